import { CatalogError } from '../../catalog/error.ts';
import { usageCsv } from '../../catalog/operator/csv.ts';
import { allUsageRows, type UsageStep } from '../../catalog/operator/usage-rows.ts';
import { USAGE_PERIODS } from '../../catalog/usage.ts';
import { parseDuration } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { type AddCommand, selectedBy, withFilters } from '../doors/command.ts';
import { table } from '../doors/table.ts';
import { USAGE_FILTERS, usageReport } from './report.ts';

const NOTE = 'Usage is stored every five seconds, and for ranges above 2 days every minute; a kill may lose the latest';
const { key: _, ...OPTIONS } = USAGE_FILTERS;
const REPORT = { filters: OPTIONS };

/** Adds `usage`. */
export function addUsage(add: AddCommand): void {
  const command = add(
    'usage [id]',
    'Show the usage of each key, or of one, an owner, a route or a time',
    'read',
    async (context, key) => {
      const { options, storage, now } = context;
      if (key !== undefined && !(await storage.keys.find(key)))
        throw new CatalogError('not_found', `There is no key ${key}`);
      const { limit, sort: __, ...selected } = selectedBy(REPORT, context);
      const report = usageReport({ ...selected, ...(key !== undefined && { key }) }, now, { isStored: true });
      const all = await allUsageRows(context, report);
      const rows = (report.isSeries ? all : all.sort((one, other) => other.served - one.served)).slice(0, limit);
      if (options.csv) return { text: usageCsv(rows, report.group, report.isSeries).trimEnd() };
      if (rows.length === 0) {
        const { since = '24h', until } = options;
        const isPeriod = until === undefined && parseDuration(`${since}`) !== undefined;
        return {
          json: rows,
          text: '',
          note: `No requests with a key in ${isPeriod ? `the last ${since}` : 'this time'}`,
        };
      }
      const names = Object.keys(rows[0] ?? {}).filter((name) => name !== 'owner' || report.group === 'owner');
      const headings = names.map((name) => name.replaceAll(/[A-Z]/g, ' $&').toUpperCase());
      const cells = rows.map((row) => names.map((name) => `${(row as Record<string, unknown>)[name] ?? ''}`));
      return {
        json: rows,
        text: table(headings, cells),
        note: report.isSeries ? NOTE : `${NOTE}${report.steps.map(widening).join('')}`,
      };
    },
  );
  withFilters(command, REPORT).option('--csv', 'print CSV');
}

/** Says how far a range was widened; minutes go without saying. */
function widening({ period, since, until }: UsageStep): string {
  if (period === 'minute') return '';
  const { seconds } = USAGE_PERIODS[period];
  const to = until === undefined ? '' : ` to ${utc(Math.ceil(until / seconds) * seconds)}`;
  return `\nOf whole ${period}s, from ${utc(Math.floor(since / seconds) * seconds)}${to}`;
}

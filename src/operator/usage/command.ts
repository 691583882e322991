import { CatalogError } from '../../catalog/error.ts';
import { usageCsv } from '../../catalog/operator/csv.ts';
import { allUsageRows } from '../../catalog/operator/usage-rows.ts';
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
      if (rows.length === 0)
        return { json: rows, text: '', note: `No requests with a key in the last ${options.since ?? '24h'}` };
      const names = Object.keys(rows[0] ?? {}).filter((name) => name !== 'owner' || report.group === 'owner');
      const headings = names.map((name) => name.replaceAll(/[A-Z]/g, ' $&').toUpperCase());
      const cells = rows.map((row) => names.map((name) => `${(row as Record<string, unknown>)[name] ?? ''}`));
      return { json: rows, text: table(headings, cells), note: NOTE };
    },
  );
  withFilters(command, REPORT).option('--csv', 'print CSV');
}

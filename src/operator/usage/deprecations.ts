import { usageCsv } from '../../catalog/operator/csv.ts';
import { allUsageRows, usageSteps } from '../../catalog/operator/usage-rows.ts';
import { html } from '../../http/html.ts';
import { OPERATIONS } from '../../http/operations.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { type ConsoleContext, download, nothingHere, onGet, type View } from '../frame/context.ts';
import { duration, utcDay } from '../frame/element.ts';
import { csvLink } from '../frame/list.ts';
import { spanIn } from './range.ts';
import { routeOf, timeIn, usageOf } from './usage.ts';

/** A page for each deprecated operation: which keys still call it. */
export const deprecationRoutes = [
  onGet('/deprecations/:id', showDeprecation),
  onGet('/deprecations/:id/export', exportDays),
];

async function showDeprecation(context: ConsoleContext): Promise<View> {
  const { id, now } = context;
  const { deprecation, route } = deprecated(id);
  const { since, sunset, successor } = deprecation;
  const end =
    sunset > now
      ? html`It ends in ${duration(sunset - now)}, on ${utcDay(sunset)}`
      : html`It ended on ${utcDay(sunset)}`;
  const content = html`<p class="crumb"><a href="/console">Overview</a></p>
<div class="heading"><h1>Who calls ${id}</h1>${csvLink(`/deprecations/${id}/export`, timeIn(context.exchange), 'CSV by key and day')}</div>
<p class="lead"><code>${route}</code> is deprecated since ${utcDay(since)}. ${end}, and answers 410 from then on. Its successor is <code>/v1${successor}</code>.</p>
${await usageOf(context, ['key'], { route })}`;
  return { section: '', title: `Who calls ${id}`, content };
}

/** The requests of each key on each day, from `from` to `to` as far as usage is kept. */
async function exportDays(context: ConsoleContext): Promise<Answer> {
  const { id, now, exchange } = context;
  const { deprecation, route } = deprecated(id);
  await context.flushUsage();
  const steps = usageSteps('day', { since: deprecation.since, until: now + 1, ...spanIn(exchange.query, now), now });
  return download(`${id}.csv`, usageCsv(await allUsageRows(context, { group: 'key', route, steps }), 'key', true));
}

/** Throws `not_found`. */
function deprecated(id: string) {
  const found = OPERATIONS.find((each) => each.id === id);
  if (!found?.deprecation) throw nothingHere('deprecated operation');
  return { deprecation: found.deprecation, route: routeOf(found) };
}

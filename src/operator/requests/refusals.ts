import type { ApiKey } from '../../catalog/api-key.ts';
import { USAGE_PERIODS } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { count, moment, numberCell, table } from '../frame/element.ts';

const MINUTES_MAX = 60;
const BANS_MAX = 100;
const COLUMNS = [
  { name: 'Minute' },
  { name: 'Why' },
  { name: 'Refused', isNumber: true },
  { name: 'Served', isNumber: true },
];
const WHY: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'over the limit of its minute',
  daily_quota_exceeded: 'over the quota of its day',
  key_banned: 'banned',
};

/**
 * The minutes of the last days in which a key was refused, newest first, with the reason: that kept with a request,
 * else what the bans and the usage of the day suggest.
 */
export async function refusalsByMinute(
  { storage, now }: ConsoleContext,
  key: ApiKey,
  failures: readonly RecentRequest[],
): Promise<Html> {
  const since = now - USAGE_PERIODS.minute.keptSeconds;
  const points = await storage.usage.series({ keyId: key.id, period: 'minute', since });
  const refused = points.filter((point) => point.refused > 0).reverse();
  const bans = await storage.keys.banHistory(key.id, BANS_MAX);
  const days = await storage.usage.series({ keyId: key.id, period: 'day', since });
  const spentDays = new Set(days.filter(({ served }) => served >= key.limits.day).map(({ at }) => at));
  const byMinute = Map.groupBy(failures, ({ at }) => at - (at % MINUTE_SECONDS));
  const reasons = (at: number): string => {
    const known = (byMinute.get(at) ?? []).flatMap(({ code }) => WHY[code ?? ''] ?? []);
    if (known.length > 0) return [...new Set(known)].join(', ');
    const isBanned = bans.some((ban) => ban.startedAt < at + MINUTE_SECONDS && (ban.liftedAt ?? ban.endsAt) > at);
    if (isBanned) return 'banned in this minute';
    return spentDays.has(at - (at % DAY_SECONDS))
      ? 'probably over the quota of its day'
      : 'probably over the limit of its minute';
  };
  const rows = refused
    .slice(0, MINUTES_MAX)
    .map(
      ({ at, served, refused: times }) =>
        html`<tr><th scope="row">${moment(at)}</th><td class="reason">${reasons(at)}</td>${numberCell(times)}${numberCell(served)}</tr>\n`,
    );
  const more = refused.length - MINUTES_MAX;
  return html`<section aria-labelledby="refusals-heading"><h2 id="refusals-heading">When it was refused <small>by minute, in the last 2 days, on all instances</small></h2>
${rows.length === 0 ? html`<p class="soft">The key was not refused in the last 2 days.</p>` : table('Refusals by minute', COLUMNS, rows)}
${more > 0 ? html`<p class="soft">And in ${count(more)} earlier minutes; the <a href="/console/keys/${key.id}?range=24h">chart of the key</a> shows them.</p>` : ''}
</section>`;
}

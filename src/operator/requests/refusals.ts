import type { ApiKey } from '../../catalog/api-key.ts';
import { USAGE_PERIODS } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { clock, count, moment } from '../frame/element.ts';
import { cardTable } from '../frame/list.ts';

const TIMES_MAX = 60;
const BANS_MAX = 100;
const COLUMNS = [
  { name: 'When' },
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
 * The times of the last days in which a key was refused, newest first, with the reason: that kept with a request, else
 * what the bans and the usage of the day suggest. Minutes that follow each other for the same reason are one.
 */
export async function refusalsByMinute(
  { storage, now }: ConsoleContext,
  key: ApiKey,
  failures: readonly RecentRequest[],
): Promise<Html> {
  const ofKey = { keyId: key.id, group: 'all', since: now - USAGE_PERIODS.minute.keptSeconds } as const;
  const points = await storage.usage.sums({ ...ofKey, period: 'minute', step: MINUTE_SECONDS });
  const refused = points.filter((point) => point.refused > 0).reverse();
  const bans = await storage.keys.banHistory(key.id, BANS_MAX);
  const days = await storage.usage.sums({ ...ofKey, period: 'day', step: DAY_SECONDS });
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
  const times: { from: number; to: number; reason: string; refused: number; served: number }[] = [];
  for (const { at, served, refused: refusals } of refused) {
    const [reason, later] = [reasons(at), times.at(-1)];
    if (later?.reason === reason && later.from === at + MINUTE_SECONDS) {
      times[times.length - 1] = {
        ...later,
        from: at,
        refused: later.refused + refusals,
        served: later.served + served,
      };
    } else times.push({ from: at, to: at, reason, refused: refusals, served });
  }
  const rows = times.slice(0, TIMES_MAX).map(({ from, to, reason, refused, served }) => {
    const when = html`${moment(from)}${from < to ? html` to ${clock(to)}` : ''}`;
    return [when, html`${reason}`, html`${count(refused)}`, html`${count(served)}`];
  });
  const more = times.length - TIMES_MAX;
  return html`<section aria-labelledby="refusals-heading"><h2 id="refusals-heading">When it was refused <small>by minute, in the last 2 days, on all instances</small></h2>
${rows.length === 0 ? html`<p class="soft">No limit and no ban refused the key in the last 2 days.</p>` : cardTable('Refusals by minute', COLUMNS, rows)}
${more > 0 ? html`<p class="soft">And at ${count(more)} earlier times; the <a href="/console/keys/${key.id}?range=24h">chart of the key</a> shows them.</p>` : ''}
</section>`;
}

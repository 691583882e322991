import type { Ban } from '../../catalog/limit.ts';
import type { KeyUsage } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/docs/html.ts';
import { usageChart } from '../frame/chart.ts';
import type { ConsoleContext, ConsoleOptions, ConsoleRoute } from '../frame/context.ts';
import { count, duration, empty, foreign, moment, numberCell, onlyFor, post, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';

const BUSIEST_MAX = 10;
const BANS_MAX = 10;
const HOUR_MINUTES = 60;
/** Short, because the query adds up the usage of every key in this time. */
const BUSIEST_SECONDS = 300;
/** How long the result is cached for all operators; longer if the query would take more than this share of the time. */
const BUSIEST_CACHED_MS = 5_000;
const BUSIEST_TIME_SHARE = 0.02;

/** Creates a query for the busiest keys that caches its result for a few seconds. */
export function createBusiest({ storage, clock }: ConsoleOptions): ConsoleContext['busiest'] {
  let finding: Promise<readonly KeyUsage[]> | undefined;
  let staleAtMs = 0;
  return () => {
    const startedMs = performance.now();
    if (finding && startedMs < staleAtMs) return finding;
    staleAtMs = startedMs + BUSIEST_CACHED_MS;
    const { unix: now } = clock();
    finding = storage.usage.byKey({ since: now - BUSIEST_SECONDS, now, limit: BUSIEST_MAX });
    finding.then(
      () => {
        const tookMs = performance.now() - startedMs;
        staleAtMs = startedMs + Math.max(BUSIEST_CACHED_MS, tookMs / BUSIEST_TIME_SHARE);
      },
      () => {
        finding = undefined;
      },
    );
    return finding;
  };
}

/** The overview page. A script refreshes the elements with `data-live`. */
export const overviewRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '',
    async handle(context) {
      const chart = {
        id: 'requests',
        title: 'Requests in the last hour',
        period: 'minute',
        periods: HOUR_MINUTES,
      } as const;
      const content = html`<div class="heading"><h1>Overview</h1><p class="soft" data-refreshing><a href="/console">Reload</a></p></div>
${degraded(context)}
${await tiles(context)}
${await bans(context)}
${await usageChart(context, chart)}
${await busiest(context)}
${await health(context)}`;
      return page(context, { section: '', title: 'Overview', content });
    },
  },
];

/** The warning for an instance that counts without Redis. */
function degraded({ limiter }: ConsoleContext): Html {
  const warning =
    limiter.state === 'degraded'
      ? html`<p class="mistake" role="alert">Redis does not respond, so this instance counts by itself and admits its share of each limit.</p>`
      : '';
  return html`<div id="degraded" data-live>${warning}</div>`;
}

async function tiles({ vitals }: ConsoleContext): Promise<Html> {
  const { requests, refused, failed, p50, p99 } = await vitals.signs();
  const tile = (label: string, value: string, title: string, tone = '') =>
    html`<div class="tile${tone && ` ${tone}`}" title="${title}"><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`<dl class="tiles" id="tiles" data-live>
${tile('Requests per second', rate(requests), 'Over the last 10 s, on this instance')}
${tile('Refused per second', rate(refused), 'Responses with 429 over the last 10 s, on this instance', refused > 0 ? 'warning' : '')}
${tile('Errors per second', rate(failed), 'Responses with 5xx over the last 10 s, on this instance', failed > 0 ? 'danger' : '')}
${tile('Median', milliseconds(p50), 'Half of the requests of the last minute were answered within this time')}
${tile('99th percentile', milliseconds(p99), '99 of 100 requests of the last minute were answered within this time')}
</dl>`;
}

async function bans(context: ConsoleContext): Promise<Html> {
  const { storage, now } = context;
  const all = (await storage.limits.listBans(now)).sort((one, other) => other.startedAt - one.startedAt);
  const names = await keyNames(
    context,
    all.slice(0, BANS_MAX).map(({ keyId }) => keyId),
  );
  const panel = (ban: Ban) => html`<li class="panel danger"><div>
<p>${keyLink(ban.keyId, names)} is banned for another <strong>${duration(ban.endsAt - now)}</strong>, until ${moment(ban.endsAt)}</p>
<p>It was ${ban.reason}.</p></div>
${onlyFor(context, 'keys', post(context, `/keys/${ban.keyId}/unban`, html`<button aria-label="Lift the ban of ${names.get(ban.keyId) ?? ban.keyId}">Lift the ban</button>`))}</li>\n`;
  const more = all.length - BANS_MAX;
  return html`<section id="bans" data-live aria-labelledby="bans-heading">
<h2 id="bans-heading">Banned now${all.length > 0 ? html` <span class="badge danger">${count(all.length)}</span>` : ''}</h2>
${all.length === 0 ? html`<p class="soft">No key is banned.</p>` : html`<ul class="plain">${all.slice(0, BANS_MAX).map(panel)}</ul>`}
${more > 0 ? html`<p class="soft">And ${count(more)} more, marked in the list of keys.</p>` : ''}
</section>`;
}

async function busiest(context: ConsoleContext): Promise<Html> {
  const { storage, url } = context;
  const found = await context.busiest();
  const names = await keyNames(
    context,
    found.map(({ keyId }) => keyId),
  );
  const row = (usage: KeyUsage) =>
    html`<tr><th scope="row">${keyLink(usage.keyId, names)}</th>${[
      usage.served,
      usage.refused,
      usage.clientErrors + usage.serverErrors,
    ].map(numberCell)}<td>${moment(usage.last)}</td></tr>\n`;
  const numbers = ['Served', 'Refused', 'Errors'].map((name) => ({ name, isNumber: true }));
  const hasKeys = found.length > 0 || (await storage.keys.search({ text: '', offset: 0, limit: 1 })).count > 0;
  const none = hasKeys
    ? empty(
        'No requests in the last five minutes.',
        html`A first request appears here within seconds: <code>curl -H 'Authorization: Bearer YOUR_KEY' ${url()}/categories</code>`,
      )
    : empty(
        'There is no key yet.',
        html`Every request to the API needs one. ${onlyFor(context, 'keys', html`<a href="/console/keys/new">Create the first key</a>`)}`,
      );
  return html`<section id="busiest" data-live aria-labelledby="busiest-heading">
<h2 id="busiest-heading">Busiest keys of the last five minutes</h2>
${found.length === 0 ? none : table('Busiest keys', [{ name: 'Key' }, ...numbers, { name: 'Last request' }], found.map(row))}
</section>`;
}

async function health({ health, limiter, usesRedis, version, environment, url }: ConsoleContext): Promise<Html> {
  const database = await health.ready().then(
    () => html`<span class="badge good">up</span>`,
    () => html`<span class="badge danger">down</span> Requests that need it get 503; see the log.`,
  );
  const counting = usesRedis
    ? limiter.state === 'ok'
      ? html`<span class="badge good">up</span>`
      : html`<span class="badge danger">down</span> This instance counts by itself and admits its share of each limit.`
    : html`<span class="badge">not used</span> This instance counts alone.`;
  return html`<section id="health" data-live aria-labelledby="health-heading">
<h2 id="health-heading">Health</h2>
<dl class="facts"><dt>Database</dt><dd>${database}</dd><dt>Redis</dt><dd>${counting}</dd>
<dt>This instance</dt><dd>version ${version}, ${environment}, up for ${duration(process.uptime())}</dd>
<dt>API</dt><dd><code>${url()}</code></dd></dl>
</section>`;
}

async function keyNames({ storage }: ConsoleContext, ids: readonly string[]): Promise<Map<string, string>> {
  const keys = await Promise.all(ids.map((id) => storage.keys.find(id)));
  return new Map(keys.flatMap((key) => (key ? [[key.id, key.name]] : [])));
}

function keyLink(id: string, names: ReadonlyMap<string, string>): Html {
  return html`<a href="/console/keys/${id}">${foreign(names.get(id) ?? id)}</a>`;
}

function rate(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

function milliseconds(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  const ms = seconds * 1_000;
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${count(Math.round(ms))} ms`;
}

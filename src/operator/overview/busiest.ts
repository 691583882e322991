import type { KeyUsage } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/docs/html.ts';
import { firstStep, type Range } from '../charts/range.ts';
import { errorCell, OUTCOMES } from '../charts/usage.ts';
import type { ConsoleContext, ConsoleOptions } from '../frame/context.ts';
import { empty, foreign, moment, numberCell, onlyFor, table } from '../frame/element.ts';
import { soon } from './soon.ts';

const SHOWN_MAX = 10;
/** How long a result is cached; longer if the query would otherwise take more than this share of the time. */
const CACHED_MS = 5_000;
const TIME_SHARE = 0.02;
/** How long a page waits for the first result of its range. */
const WAIT_MS = 500;

/** Finds the busiest keys of a range; undefined while that takes long. */
export type FindBusiest = (range: Range) => Promise<readonly KeyUsage[] | undefined>;

interface Finding {
  readonly found: Promise<readonly KeyUsage[]>;
  last?: readonly KeyUsage[];
  staleAtMs: number;
}

/** Creates a query for the busiest keys that keeps its result for a few seconds, one for each range. */
export function createBusiest({ storage, time }: Pick<ConsoleOptions, 'storage' | 'time'>): FindBusiest {
  const findings = new Map<string, Finding>();
  return async (range) => {
    const before = findings.get(range.name);
    const startedMs = performance.now();
    if (before && startedMs < before.staleAtMs) return before.last ?? soon(before.found, WAIT_MS);
    const { unix: now } = time.now();
    const found = storage.usage.busiest({ period: range.period, since: firstStep(range, now), limit: SHOWN_MAX });
    const finding: Finding = { found, ...(before?.last && { last: before.last }), staleAtMs: Number.POSITIVE_INFINITY };
    findings.set(range.name, finding);
    found.then(
      (keys) => {
        const tookMs = performance.now() - startedMs;
        finding.last = keys;
        finding.staleAtMs = startedMs + Math.max(CACHED_MS, tookMs / TIME_SHARE);
      },
      () => findings.delete(range.name),
    );
    return finding.last ?? soon(found, WAIT_MS);
  };
}

/** The busiest keys of a range. */
export async function busiestKeys(context: ConsoleContext, range: Range): Promise<Html> {
  const found = await context.busiest(range);
  return html`<section id="busiest" data-live aria-labelledby="busiest-heading">
<h2 id="busiest-heading">Busiest keys <small>in ${range.words}</small></h2>
${found === undefined ? html`<p class="soft">Being added up; this takes a while with many keys.</p>` : await keysTable(context, found, range)}
<p class="scope">Of all instances, most served requests first.</p>
</section>`;
}

async function keysTable(context: ConsoleContext, found: readonly KeyUsage[], range: Range): Promise<Html> {
  if (found.length === 0) return nothing(context, range);
  const names = await keyNames(
    context,
    found.map(({ keyId }) => keyId),
  );
  const rows = found.map(
    (usage) =>
      html`<tr><th scope="row">${keyLink(usage.keyId, names)}</th>${numberCell(usage.served)}${OUTCOMES.slice(1).map(({ outcome }) => errorCell(usage[outcome]))}<td>${moment(usage.last)}</td></tr>\n`,
  );
  const numbers = OUTCOMES.map(({ label: name }) => ({ name, isNumber: true }));
  return table('Busiest keys', [{ name: 'Key' }, ...numbers, { name: 'Last request' }], rows);
}

async function nothing(context: ConsoleContext, { words }: Range): Promise<Html> {
  const { storage, url } = context;
  if ((await storage.keys.search({ text: '', offset: 0, limit: 1 })).count > 0) {
    const line = html`A first request appears here within seconds: <code>curl -H 'Authorization: Bearer YOUR_KEY' ${url()}/categories</code>`;
    return empty(`No requests with a key in ${words}.`, line);
  }
  const create = onlyFor(context, 'keys', html`<a href="/console/keys/new">Create the first key</a>`);
  return empty('There is no key yet.', html`Every request to the API needs one. ${create}`);
}

/** The names of keys, by id. */
export async function keyNames(
  { storage }: Pick<ConsoleContext, 'storage'>,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const keys = await Promise.all([...new Set(ids)].map((id) => storage.keys.find(id)));
  return new Map(keys.flatMap((key) => (key ? [[key.id, key.name]] : [])));
}

/** A link to the page of a key, with its name. */
export function keyLink(id: string, names: ReadonlyMap<string, string>): Html {
  return html`<a href="/console/keys/${id}">${foreign(names.get(id) ?? id)}</a>`;
}

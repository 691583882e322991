import type { UsageSort, UsageSum } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { MACHINE } from '../../stdx/time.ts';
import { firstStep, type Range } from '../charts/range.ts';
import type { ConsoleContext, ConsoleOptions } from '../frame/context.ts';
import { empty } from '../frame/element.ts';
import { keptResult } from '../frame/kept.ts';
import { choiceLinks } from '../frame/list.ts';
import { noKeyYet } from '../keys/list.ts';
import { heading, sortIn, sumsTable } from './sums.ts';

const SHOWN_MAX = 10;
const KEPT_MS = 5_000;
const GROUPS = [
  { value: '', label: 'by key' },
  { value: 'owner', label: 'by owner' },
];

/** Creates a query that keeps its results for a few seconds. */
export function createMost({ storage, time }: Pick<ConsoleOptions, 'storage' | 'time'>): ConsoleContext['most'] {
  const kept = new Map<string, ReturnType<typeof keptResult<readonly UsageSum[]>>>();
  return ({ range, group, sort }) => {
    const work = () => {
      const since = firstStep(range, time.now().unix);
      return storage.usage.most({ period: range.period, since, group, sort, limit: SHOWN_MAX });
    };
    const name = `${range.name} ${group} ${sort}`;
    const latest = kept.get(name) ?? keptResult(work, { keptMs: KEPT_MS, time: { steadyMs: MACHINE.monotonicMs } });
    kept.set(name, latest);
    return latest();
  };
}

/** The keys or owners with the most requests, refusals or errors in a range. */
export async function mostSection(context: ConsoleContext, range: Range): Promise<Html> {
  const { query } = context.exchange;
  const group = query.get('by') === 'owner' ? 'owner' : 'key';
  const sort = sortIn(query);
  const found = await context.most({ range, group, sort });
  const links = choiceLinks({
    path: '',
    query,
    name: 'by',
    label: 'Keys or owners',
    options: GROUPS,
    chosen: group === 'key' ? '' : group,
  });
  return html`<section id="busiest" data-live aria-labelledby="busiest-heading">
<h2 id="busiest-heading">${heading(group, sort)} <small>in ${range.words}</small></h2>
${links}
${found === undefined ? html`<p class="soft">Being added up; this takes a while with many keys.</p>` : found.length === 0 ? await nothing(context, range, sort) : sumsTable(group, found, { withOwner: group === 'key' })}
</section>`;
}

async function nothing(context: ConsoleContext, { words }: Range, sort: UsageSort): Promise<Html> {
  const { storage, url } = context;
  if (sort !== 'requests') return html`<p class="soft">None in ${words}.</p>`;
  if ((await storage.keys.search({ text: '', offset: 0, limit: 1 })).count > 0) {
    const line = html`A first request appears here within seconds: <code>curl -H 'Authorization: Bearer YOUR_KEY' ${url()}/categories</code>`;
    return empty(`No requests with a key in ${words}.`, line);
  }
  return noKeyYet(context);
}

import type { HistoryLineJson } from '../../catalog/operator/json.ts';
import { type Html, html } from '../../http/html.ts';
import { readId } from '../../http/operations/query.ts';
import { difference, operatorLink, targetLink } from './audit.ts';
import type { ConsoleContext } from './frame/context.ts';
import { cardTable, long, secondOf } from './frame/element.ts';
import { secondsOf } from './list-pages.ts';
import { keyLink, ownerLink } from './usage.ts';

/** Shows what happened to an order, a pet or a category, and finds it by a request. */

/** The section of a page with the changes, the oldest first. */
export function historySection(lines: readonly HistoryLineJson[]): Html {
  const rows = lines.map((line) => [
    secondOf(secondsOf(line.at)),
    html`${line.action}`,
    authorOf(line),
    line.requestId === null
      ? html`<span class="soft">none</span>`
      : html`<a href="/console/requests/why?${`${new URLSearchParams({ q: line.requestId })}`}"><code>${line.requestId}</code></a>`,
    difference(line.changes.before, line.changes.after),
  ]);
  return html`<h2>History</h2>
${cardTable('History', ['When', 'What', 'By', 'Request id', long('Change')], rows)}`;
}

/** Who made it: an operator, or a key with its owner. */
export function authorOf({ keyId, keyName, owner, actor, via, ...more }: Partial<HistoryLineJson>): Html {
  if (actor !== undefined && via !== undefined) return operatorLink({ ...more, actor, via });
  if (keyId === undefined) return html``;
  if (!keyName) return html`<code>${keyId}</code>`;
  const of = owner ? html` <span class="soft">of</span> ${ownerLink(owner)}` : '';
  return html`${keyLink(keyId, keyName)}${of}`;
}

/** Links to what a text is the id of, or the request id or `Idempotency-Key` of a change of; empty for nothing. */
export async function recordedLinks({ storage }: ConsoleContext, text: string): Promise<Html> {
  const id = readId(text) ?? 0;
  const { orders, pets, categories } = storage;
  const byId = Object.entries({ order: orders, pet: pets, category: categories }).map(async ([noun, stored]) => {
    const found = await stored.history(id);
    const link = targetLink({ action: noun, target: `${id}` });
    return found && html`<li>${link} <span class="soft">${found.isRemoved ? 'removed' : 'by its id'}</span></li>`;
  });
  const byRequest = (await storage.audit.search(text)).map(
    ({ action, target }) =>
      html`<li>${targetLink({ action, target })} <span class="soft">${action} by this request</span></li>`,
  );
  const links = [...byRequest, ...(await Promise.all(byId))].filter((link) => link !== undefined);
  if (links.length === 0) return html``;
  return html`<section aria-labelledby="found-heading"><h2 id="found-heading">In the catalog</h2><ul class="which">${links}</ul></section>`;
}

import type { ApiKey } from '../../catalog/api-key.ts';
import { type Html, html } from '../../http/html.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { foreign } from '../frame/element.ts';
import { SEARCH_CHARACTERS_MAX } from '../frame/list.ts';

const KEYS_MAX = 10;

/** The field on every page that leads from a request id or a key to the answer. */
export function lookUp(): Html {
  return html`<form class="look-up" role="search" aria-label="Requests and keys" action="/console/requests/why">
<input name="q" type="search" aria-label="Request id or key" placeholder="Request id or key" maxlength="${SEARCH_CHARACTERS_MAX}" autocomplete="off" spellcheck="false"></form>`;
}

/** The keys that a text may mean, newest first: the one with this id, prefix or name, else those that contain it. */
export async function keysLike({ storage, now }: ConsoleContext, text: string): Promise<readonly ApiKey[]> {
  const byId = await storage.keys.find(text);
  if (byId) return [byId];
  const { keys } = await storage.keys.page({ text, now, limit: KEYS_MAX });
  const meant = keys.filter(({ prefix, name, owner }) => [prefix, name, owner].includes(text));
  return meant.length === 1 ? meant : keys;
}

/** Which of several keys is meant; `address` makes the link for an id. */
export function whichKey(keys: readonly ApiKey[], address: (id: string) => string): Html {
  const items = keys.map(
    ({ id, name, prefix, owner }) =>
      html`<li><a href="${address(id)}">${foreign(name)}</a> <code>${prefix}…</code>${owner === null ? '' : html` <span class="soft">of ${foreign(owner)}</span>`}</li>\n`,
  );
  const more =
    keys.length === KEYS_MAX
      ? html`<p class="soft">These are the newest ${KEYS_MAX}; search for more of the name to see others.</p>`
      : '';
  return html`<section aria-labelledby="which-heading"><h2 id="which-heading">Which key?</h2><ul class="which">${items}</ul>${more}</section>`;
}

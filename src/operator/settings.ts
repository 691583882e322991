import { html } from '../http/docs/html.ts';
import type { ConsoleRoute } from './frame/context.ts';
import { empty, table } from './frame/element.ts';
import { page } from './frame/layout.ts';

/** The current settings, read-only: a change needs a restart. */
export const settingsRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/settings',
    handle(context) {
      const rows = context.settings.map(
        ({ name, value, from, about }) => html`<tr><th scope="row"><code>${name}</code><p class="hint">${about}</p></th>
<td class="long">${value === '' ? html`<span class="soft">not set</span>` : html`<code>${value}</code>`}</td><td>${from}</td></tr>\n`,
      );
      const content = html`<h1>Settings in force</h1>
<p class="lead">Read at startup from flags, the environment, <code>.env</code> or the defaults. A change needs a restart. Secrets are masked.</p>
${rows.length > 0 ? table('Settings', [{ name: 'Setting' }, { name: 'Value' }, { name: 'From' }], rows) : empty('No settings to show.', html`The program that started this service did not pass its settings on.`)}`;
      return page(context, { section: '/settings', title: 'Settings', content });
    },
  },
];

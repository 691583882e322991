import { html } from '../http/docs/html.ts';
import type { ConsoleRoute } from './frame/context.ts';
import { empty, table } from './frame/element.ts';
import { page } from './frame/layout.ts';

/** The settings in force. They are changed outside, and hold from the next start on. */
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
<p class="lead">They come from flags, the environment, <code>.env</code> or the defaults, and hold from one start to the next. Secrets are masked.</p>
${rows.length > 0 ? table('Settings', [{ name: 'Setting' }, { name: 'Value' }, { name: 'From' }], rows) : empty('Nothing is told here.', html`This service was started by a program that keeps its settings to itself.`)}`;
      return page(context, { section: '/settings', title: 'Settings', content });
    },
  },
];

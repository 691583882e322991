import { type Html, html } from '../http/html.ts';
import { onGet, type ShownSetting } from './frame/context.ts';
import { cardTable, count, empty } from './frame/element.ts';

const COLUMNS = ['Setting', 'Value', 'From'];

/** The current settings, read-only: a change needs a restart. Those that are not the defaults come first. */
export const settingsRoutes = [
  onGet('/settings', (context) => {
    const { settings } = context;
    const changed = settings.filter(({ isDefault }) => !isDefault);
    const usual = settings.filter(({ isDefault }) => isDefault);
    const none = html`The program that started this service did not pass its settings on.`;
    const content = html`<h1>Settings in force</h1>
<p class="lead">Read at startup from flags, the environment, <code>.env</code> or the defaults. A change needs a restart. Secrets are masked.</p>
${
  settings.length === 0
    ? empty('No settings to show.', none)
    : html`${group('Changed from the default', changed)}
${group('At the default', usual)}`
}`;
    return { section: '/settings', title: 'Settings', content };
  }),
];

function group(title: string, settings: readonly ShownSetting[]): Html {
  const rows = settings.map(({ name, value, from, isDefault, about }) => [
    html`<code>${name}</code>${isDefault ? '' : html` <span class="badge good">changed</span>`}<span class="under soft">${about}</span>`,
    value === '' ? html`<span class="soft">not set</span>` : html`<code>${value}</code>`,
    html`${from}`,
  ]);
  return html`<section class="settings"><h2>${title} <span class="badge">${count(settings.length)}</span></h2>
${rows.length > 0 ? cardTable(title, COLUMNS, rows) : html`<p class="soft">None.</p>`}</section>`;
}

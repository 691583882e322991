import { html } from '../../http/html.ts';
import { onGet } from './frame/context.ts';
import { cardTable } from './frame/element.ts';

/** The current settings, read-only: a change needs a restart. Those that are not the defaults come first. */
export const settingsRoutes = [
  onGet('/settings', ({ settings }) => {
    const rows = settings
      .toSorted((one, other) => Number(one.isDefault) - Number(other.isDefault))
      .map(({ name, value, from, isDefault, about }) => [
        html`<code>${name}</code>${isDefault ? '' : html` <span class="badge good">changed</span>`}<span class="under soft">${about}</span>`,
        value === '' ? html`<span class="soft">not set</span>` : html`<code>${value}</code>`,
        html`${from}`,
      ]);
    const content = html`<h1>Settings in force</h1>
<p class="lead">Read at startup from flags, the environment, <code>.env</code> or the defaults. A change needs a restart. Secrets are masked.</p>
<div class="settings">${cardTable('Settings', ['Setting', 'Value', 'From'], rows)}</div>`;
    return { section: '/settings', title: 'Settings', content };
  }),
];

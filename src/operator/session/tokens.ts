import { CatalogError } from '../../catalog/error.ts';
import {
  issueToken,
  isTokenUsable,
  type OperatorToken,
  ROLES,
  revokeToken,
  roleNamed,
} from '../../catalog/operator/token.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { type ConsoleContext, type ConsoleRoute, field, may, seeOther } from '../frame/context.ts';
import { foreign, mistake, moment, post, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';

const LIVES = [
  { days: 30, label: '30 days' },
  { days: 90, label: '90 days' },
  { days: 365, label: 'a year' },
] as const;
const COLUMNS = ['Name', 'State', 'Token', 'Role', 'Created', 'Action'].map((name) => ({ name }));

/** The tokens of the operator API, and the actions on them. */
export const tokenRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/tokens', handle: (context) => tokensPage(context) },
  { method: 'POST', path: '/tokens', role: 'admin', handle: create },
  {
    method: 'POST',
    path: '/tokens/:id/revoke',
    role: 'admin',
    async handle(context) {
      await revokeToken(context, context.exchange.params.id ?? '');
      return seeOther('/tokens', 'token-revoked');
    },
  },
];

async function tokensPage(context: ConsoleContext, wrong?: string): Promise<Answer> {
  const tokens = await context.storage.tokens.list();
  const rows = tokens.map(
    (
      token,
    ) => html`<tr><th scope="row">${foreign(token.name)}</th><td>${stateOf(token, context.now)}</td><td><code>${token.prefix}…</code></td>
<td>${token.role}</td><td>${moment(token.createdAt)}</td><td>${revokeForm(context, token)}</td></tr>\n`,
  );
  const content = html`<h1>Tokens</h1>
<p class="lead">Programs use the operator API with a token. The audit names it for each change.</p>
${rows.length > 0 ? table('Tokens', COLUMNS, rows) : html`<p class="soft">There is no token yet.</p>`}
${may(context, 'admin') ? createForm(context, wrong) : ''}`;
  return page(context, { title: 'Tokens', content, status: wrong === undefined ? 200 : 400 });
}

function stateOf(token: OperatorToken, now: number): Html {
  if (token.revokedAt !== null) return html`<span class="badge">revoked</span>`;
  return isTokenUsable(token, now)
    ? html`<span class="badge good">active</span>`
    : html`<span class="badge">expired</span>`;
}

function revokeForm(context: ConsoleContext, { id, name, revokedAt }: OperatorToken): Html {
  if (revokedAt !== null || !may(context, 'admin')) return html``;
  return post(
    context,
    `/tokens/${id}/revoke`,
    html`<button class="danger" aria-label="Revoke ${name}">Revoke</button>`,
  );
}

function createForm(context: ConsoleContext, wrong: string | undefined): Html {
  const roles = ROLES.map((role) => html`<option value="${role}">${role}</option>`);
  const lives = LIVES.map(({ days, label }) => html`<option value="${days}">${label}</option>`);
  return html`<section aria-labelledby="new-heading"><h2 id="new-heading">New token</h2>
${mistake(wrong)}
${post(
  context,
  '/tokens',
  html`<div class="fields"><div><label for="name">Name</label><input id="name" name="name" maxlength="100" required autocomplete="off"></div>
<div><label for="role">Role</label><select id="role" name="role" aria-describedby="role-hint">${roles}</select>
<p class="hint" id="role-hint">A viewer reads; keys also issues and changes keys and lifts bans; admin does everything.</p></div>
<div><label for="life">Works for</label><select id="life" name="life"><option value="">ever</option>${lives}</select></div>
<div class="row"><button class="primary">Create the token</button></div></div>`,
)}</section>`;
}

async function create(context: ConsoleContext): Promise<Answer> {
  const { form, now } = context;
  const life = LIVES.find(({ days }) => `${days}` === field(form, 'life'));
  const expiresAt = life ? now + life.days * DAY_SECONDS : null;
  try {
    const wanted = { name: field(form, 'name'), role: roleNamed(field(form, 'role')), expiresAt };
    const { token, secret } = await issueToken(context, wanted);
    const content = html`<h1>Token created</h1>
<p class="lead">Copy it now: it is shown only once.</p>
<div class="secret" data-become="/console/tokens"><label for="secret">Token of <strong>${foreign(token.name)}</strong></label>
<div class="row"><input id="secret" readonly value="${secret}" autocomplete="off" spellcheck="false"><button type="button" data-copy="secret" hidden>Copy</button></div>
<p class="hint" id="copied" role="status"></p></div>`;
    return page(context, { title: 'Token created', content });
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'validation_failed')) throw error;
    return tokensPage(context, error.message);
  }
}

import { checkName } from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import {
  issueToken,
  isTokenUsable,
  type OperatorToken,
  ROLES,
  revokeToken,
  roleNamed,
} from '../../catalog/operator/access.ts';
import { quote } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { type ConsoleContext, may, onGet, onPost, seeOther, type View } from '../frame/context.ts';
import { cardTable, foreign, moment, post, secretBox } from '../frame/element.ts';
import {
  described,
  FormCheck,
  field,
  fieldMistake,
  type Mistakes,
  mistakeSummary,
  NO_MISTAKES,
} from '../frame/form.ts';
import { optionList } from '../frame/list.ts';

const LIVES = [
  { value: '', label: 'ever' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
] as const;
const COLUMNS = ['Name', 'State', 'Token', 'Role', 'Created', 'Action'];

/** The tokens of the operator API, and the actions on them. */
export const tokenRoutes = [
  onGet('/tokens', (context) => tokensPage(context)),
  onPost('/tokens', create),
  onPost('/tokens/:id/revoke', async (context) => {
    await revokeToken(context, context.id);
    return seeOther('/tokens', 'token-revoked');
  }),
];

async function tokensPage(context: ConsoleContext, mistakes = NO_MISTAKES): Promise<View> {
  const tokens = await context.storage.tokens.list();
  const rows = tokens.map((token) => [
    foreign(token.name),
    stateOf(token, context.now),
    html`<code>${token.prefix}…</code>`,
    html`${token.role}`,
    moment(token.createdAt),
    revokeForm(context, token),
  ]);
  const content = html`<h1>Tokens</h1>
<p class="lead">Programs use the operator API with a token. The audit names it for each change.</p>
${rows.length > 0 ? cardTable('Tokens', COLUMNS, rows) : html`<p class="soft">There is no token yet.</p>`}
${may(context, 'admin') ? createForm(context, mistakes) : ''}`;
  return { title: 'Tokens', content, status: mistakes.size > 0 ? 400 : 200 };
}

function stateOf(token: OperatorToken, now: number): Html {
  if (token.revokedAt !== null) return html`<span class="badge">revoked</span>`;
  if (!isTokenUsable(token, now)) return html`<span class="badge">expired</span>`;
  const end = token.expiresAt === null ? '' : html`<span class="under soft">until ${moment(token.expiresAt)}</span>`;
  return html`<span class="badge good">active</span>${end}`;
}

function revokeForm(context: ConsoleContext, { id, name, revokedAt }: OperatorToken): Html {
  if (revokedAt !== null || !may(context, 'admin')) return html``;
  return post(
    context,
    `/tokens/${id}/revoke`,
    html`<button class="danger" aria-label="Revoke ${name}">Revoke</button>`,
  );
}

function createForm(context: ConsoleContext, mistakes: Mistakes): Html {
  const { form } = context;
  const roles = ROLES.map((role) => ({ value: role, label: role }));
  return html`<section aria-labelledby="new-heading"><h2 id="new-heading">New token</h2>
${mistakeSummary(mistakes)}
${post(
  context,
  '/tokens',
  html`<div class="fields"><div><label for="name">Name</label><input id="name" name="name" value="${field(form, 'name')}" maxlength="100" required autocomplete="off"${described(mistakes, 'name')}>${fieldMistake(mistakes, 'name')}</div>
<div><label for="role">Role</label><select id="role" name="role"${described(mistakes, 'role', { hasHint: true })}>${optionList(roles, field(form, 'role'))}</select>
<p class="hint" id="role-hint">A viewer reads; keys also issues and changes keys and lifts bans; admin does everything.</p>${fieldMistake(mistakes, 'role')}</div>
<div><label for="life">Works for</label><select id="life" name="life"${described(mistakes, 'life')}>${optionList(LIVES, field(form, 'life'))}</select>${fieldMistake(mistakes, 'life')}</div>
<div class="row"><button class="primary">Create the token</button></div></div>`,
)}</section>`;
}

async function create(context: ConsoleContext): Promise<View> {
  const { form, now } = context;
  const check = new FormCheck();
  const name = field(form, 'name');
  check.field('name', () => checkName(name, 'token'));
  const role = check.field('role', () => roleNamed(field(form, 'role')));
  const life = check.field('life', () => lifeOf(field(form, 'life')));
  const { mistakes } = check;
  if (!role || !life || mistakes.size > 0) return tokensPage(context, mistakes);
  const expiresAt = life.value === '' ? null : now + Number(life.value) * DAY_SECONDS;
  const { token, secret } = await issueToken({ ...context, now }, { name, role, expiresAt });
  const content = html`<h1>Token created</h1>
<p class="lead">Copy it now: it is shown only once.</p>
${secretBox(secret, { label: html`Token of <strong>${foreign(token.name)}</strong>`, become: '/tokens' })}`;
  return { title: 'Token created', content };
}

function lifeOf(text: string) {
  const life = LIVES.find(({ value }) => value === text);
  if (life) return life;
  throw invalid(`Works for: choose one of the list, not ${quote(text)}`);
}

import { checkExpiry, checkName } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import { issueToken, type OperatorToken, type Role } from '../../catalog/operator/access.ts';
import { tokenJson } from '../../catalog/operator/json.ts';
import { byText, pageOfAll, readExpiry } from './filters.ts';
import { stateText } from './keys.ts';
import { type Body, type Caller, operate } from './operation.ts';
import { IssuedToken, NewToken, OperatorToken as Token } from './schema.ts';

/** The operations on the tokens of this API. */

type TokenJson = ReturnType<typeof tokenJson>;

export const listTokens = operate('operator.list', 'listTokens', 'GET /tokens', {
  permission: 'admin',
  summary: 'List the tokens of this API',
  description: 'A page of the tokens, newest first, without their secrets.',
  list: {
    noun: ['token', 'tokens'],
    schema: Token,
    columns: [
      { member: 'id', label: 'Id' },
      { member: 'name', label: 'Name' },
      { member: 'prefix', label: 'Token', text: ({ prefix }: TokenJson) => `${prefix}…` },
      { member: 'role', label: 'Role' },
      { member: 'issuedBy', label: 'Issued by' },
      { member: 'createdAt', label: 'Created' },
      { member: 'state', label: 'State', text: stateText },
    ],
  },
  async handle({ storage }, page) {
    const placeOf = ({ createdAt, id }: OperatorToken) => ({ number: createdAt, id });
    return pageOfAll(await storage.tokens.list(), { placeOf, json: tokenJson }, page);
  },
});

export const getToken = operate('operator.show', 'getToken', 'GET /tokens/{tokenId}', {
  permission: 'admin',
  summary: 'Get a token',
  description: 'One token by its id, without its secret.',
  success: {
    status: 200,
    description: 'The token',
    schema: Token,
    headers: { ETag: 'The validator of the token for If-Match' },
  },
  async handle(caller, { id }) {
    const token = await findToken(caller, id);
    return { row: token, json: tokenJson(token) };
  },
});

export const createToken = operate('operator.create', 'createToken', 'POST /tokens', {
  permission: 'admin',
  summary: 'Issue a token',
  description: 'Issues a token of this API. It is in this response alone, and in that to a retry.',
  body: {
    schema: NewToken,
    example: { name: 'billing', role: 'keys' },
    checks: {
      name: (name: string) => checkName(name, 'token'),
      expiresAt: (text: string | null, now) => checkExpiry(readExpiry(text, now), now, 'token'),
    },
  } as Body<{ name: string; role: Role; expiresAt?: string | null }>,
  secret: 'token',
  success: {
    status: 201,
    description: 'The token with its secret',
    schema: IssuedToken,
    headers: { Location: 'The address of the token' },
  },
  async handle({ storage, now, by }, { body: { name, role, expiresAt = null } }) {
    const asked = { name, role, expiresAt: readExpiry(expiresAt, now) };
    const { token, secret } = await issueToken({ storage, now, by }, asked);
    return { row: token, json: tokenJson(token), secret };
  },
});

export const revokeToken = operate('operator.revoke', 'revokeToken', 'DELETE /tokens/{tokenId}', {
  permission: 'admin',
  summary: 'Revoke a token',
  description: 'Ends a token for good, at once. A second revocation changes nothing.',
  success: { status: 204, description: 'The token is revoked' },
  async handle(caller, { id, precondition }) {
    const present = await findToken(caller, id);
    precondition?.(present);
    return { row: await caller.storage.tokens.revoke(id, caller.now, caller.by) };
  },
});

export const revokeTokens = operate('operator.revoke-all', 'revokeTokens', 'DELETE /tokens', {
  permission: 'admin',
  summary: 'Revoke all tokens of one name',
  description:
    'Ends every token of this name for good, and those that it issued, at once; answers with those that it ended.',
  filters: { actor: byText('The name of the tokens; required', { isRequired: true }) },
  success: {
    status: 200,
    description: 'The tokens that were revoked',
    schema: { type: 'array', items: Token },
  },
  async handle(caller, { query: { actor = '' } }) {
    const { storage, now, by } = caller;
    const ended = await storage.tokens.revokeAll(actor, now, by);
    return {
      json: ended.map(tokenJson),
      note: `${ended.length} of ${actor}: ${ended.map(({ id }) => id).join(', ') || 'none'}`,
    };
  },
});

async function findToken({ storage }: Caller, id: string): Promise<OperatorToken> {
  const token = (await storage.tokens.list()).find((each) => each.id === id);
  if (token) return token;
  throw new CatalogError('not_found', `There is no token ${id}; the list of tokens shows them all`);
}

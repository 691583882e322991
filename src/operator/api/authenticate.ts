import type { IncomingMessage } from 'node:http';
import { hashSecret } from '../../catalog/api-key.ts';
import { couldBeToken, isTokenUsable, type OperatorToken } from '../../catalog/operator/token.ts';
import type { Storage } from '../../catalog/storage.ts';
import { bearerToken, usesBearer } from '../../http/authenticate.ts';
import { refusal } from '../../http/errors.ts';
import type { Answer } from '../../http/transport/exchange.ts';

const REALM = 'Bearer realm="pet-catalog-operator"';

export type TokenAuthentication =
  | { readonly token: OperatorToken; readonly secret: string; readonly refused?: undefined }
  | { readonly token?: undefined; readonly secret?: undefined; readonly refused: Answer };

/**
 * Finds the token of a request; the 401 does not reveal why one is invalid. It is read from storage each time, so that
 * a revoked one ends at once. Rejects with `unavailable` if storage cannot be read.
 */
export async function authenticateToken(
  { tokens }: Pick<Storage, 'tokens'>,
  { headers: { authorization = '' } }: IncomingMessage,
  now: number,
): Promise<TokenAuthentication> {
  const secret = bearerToken(authorization);
  if (secret === undefined) return usesBearer(authorization) ? invalidToken() : missingToken();
  const token = couldBeToken(secret) ? await tokens.find(hashSecret(secret)) : undefined;
  return token && isTokenUsable(token, now) ? { token, secret } : invalidToken();
}

function missingToken(): TokenAuthentication {
  const message = 'No token was sent; send it as `Authorization: Bearer <TOKEN>`';
  return { refused: refusal('missing_token', message, ['WWW-Authenticate', REALM]) };
}

function invalidToken(): TokenAuthentication {
  const message = 'The token is not valid; check it, or issue another with `pet-catalog operators create`';
  return { refused: refusal('invalid_token', message, ['WWW-Authenticate', `${REALM}, error="invalid_token"`]) };
}

/** The 403 for a token whose role does not suffice (RFC 6750, section 3.1). */
export function insufficientRole(needed: string, role: string): Answer {
  return refusal('insufficient_role', `This needs the role ${needed}; the token has the role ${role}`, [
    'WWW-Authenticate',
    `${REALM}, error="insufficient_scope", scope="${needed}"`,
  ]);
}

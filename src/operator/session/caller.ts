import type { IncomingMessage } from 'node:http';
import { hashSecret } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { couldBeToken, isTokenUsable, type OperatorToken } from '../../catalog/operator/access.ts';
import type { Storage } from '../../catalog/storage.ts';
import { bearerToken, usesBearer } from '../../http/authenticate.ts';
import { refusal } from '../../http/errors.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { signerOf } from './local-trust.ts';

export const REALM = 'Bearer realm="pet-catalog-operator"';

/** A caller of the operator API: a program with a token, or a command of this machine. */
interface Caller {
  readonly token: Pick<OperatorToken, 'id' | 'role'>;
  /** The secret of the token, as it was sent. */
  readonly secret: string;
  readonly by: Operator;
}

/** Finds the caller of a request to the operator API, or refuses it with 401. */
export async function findCaller(
  request: IncomingMessage,
  { storage, localSecret, now }: { storage: Pick<Storage, 'tokens'>; localSecret: string; now: number },
): Promise<Caller | { refused: Answer }> {
  const { authorization = '' } = request.headers;
  const signer = authorization.startsWith('Local ') && signerOf(localSecret, request);
  if (signer) {
    const { role: _, ...who } = signer;
    // The commands that ask a running service read, and change nothing.
    return { token: { id: 'command', role: 'viewer' }, secret: localSecret, by: { ...who, via: 'cli' } };
  }
  const secret = bearerToken(authorization);
  if (secret === undefined && !usesBearer(authorization)) {
    const message = 'No token was sent; send it as `Authorization: Bearer <TOKEN>`';
    return { refused: refusal('missing_token', message, ['WWW-Authenticate', REALM]) };
  }
  // Read from storage each time, so that a revoked one ends at once.
  const token = secret !== undefined && couldBeToken(secret) && (await storage.tokens.find(hashSecret(secret)));
  if (!token || !isTokenUsable(token, now)) {
    const message = 'The token is not valid; check it, or issue another with `pet-catalog operators create`';
    return { refused: refusal('invalid_token', message, ['WWW-Authenticate', `${REALM}, error="invalid_token"`]) };
  }
  return { token, secret, by: { actor: token.name, via: 'api' } };
}

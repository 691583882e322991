import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import type { ApiKey } from '../../catalog/api-key.ts';
import { type KeyDetails, type KeyJson, keyJson } from '../../catalog/operator/json.ts';
import type { ChangeContext } from '../../catalog/operator/key-changes.ts';
import { onceIdOf } from '../../http/operations/conditional.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { API_BASE, type ApiContext } from './operation.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The outcome kept for a repeat. The secret is sealed with the token, which is stored nowhere. */
interface Kept {
  readonly key: KeyJson;
  readonly sealed: string | undefined;
}

/** A key after a change, with its secret if it got a new one. */
export interface ChangedKey {
  readonly key: ApiKey;
  readonly secret?: string;
}

interface Change {
  readonly status: 200 | 201;
  readonly details: KeyDetails;
  make(context: ChangeContext): Promise<ChangedKey>;
}

/** Changes a key, and answers with it; a repeat with its `Idempotency-Key` gets the same answer and changes nothing. */
export async function changedKeyAnswer(
  context: ApiContext,
  exchange: Exchange,
  { status, details, make }: Change,
): Promise<Answer> {
  const { token, secret: sealedWith, storage } = context;
  const { resource, isReplay } = await storage.keys.once(onceIdOf(exchange, token.id), async (keys): Promise<Kept> => {
    const { key, secret } = await make({ ...context, storage: { keys } });
    return { key: keyJson(key, details), sealed: secret && seal(secret, sealedWith) };
  });
  const { key, sealed } = resource;
  const headers = status === 201 ? ['Location', `${API_BASE}/keys/${key.id}`] : [];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  return { status, headers, body: JSON.stringify(sealed ? { ...key, key: unseal(sealed, sealedWith) } : key) };
}

function seal(text: string, secret: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, cipherKey(secret), iv);
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64url');
}

function unseal(sealed: string, secret: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, cipherKey(secret), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}

/** Not the hash that is stored of the token. */
function cipherKey(secret: string): Buffer {
  return hash('sha256', `seal ${secret}`, 'buffer');
}

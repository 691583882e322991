import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Role } from '../../catalog/operator/access.ts';
import { isSame } from './secret.ts';

/**
 * Trust between a running service and the commands of its machine: they sign their requests with a secret that the
 * service leaves in a file for its own user. Nothing is stored, so it works while the database is away.
 */

const SIGNED = /^Local ([A-Za-z0-9_-]{1,2000})\.([A-Za-z0-9_-]{43})$/;

/** Who signs a request. */
export interface Signer {
  readonly actor: string;
  /** The system's user, where the actor is a name that was given. */
  readonly user?: string;
  /** The role of a login that is asked for. */
  readonly role?: Role;
}

/** Signs a request to a path with its query; gives the value of `Authorization`. */
export function sign(secret: string, request: { method: string; path: string }, signer: Signer): string {
  const text = Buffer.from(JSON.stringify(signer)).toString('base64url');
  return `Local ${text}.${signatureOf(secret, request, text)}`;
}

/** The signer of a request; undefined if it is not signed, or with another secret. */
export function signerOf(
  secret: string,
  { method = '', url: path = '', headers: { authorization = '' } }: IncomingMessage,
): Signer | undefined {
  const [, text, signature] = SIGNED.exec(authorization) ?? [];
  if (text === undefined || signature === undefined) return undefined;
  if (!isSame(signature, signatureOf(secret, { method, path }, text))) return undefined;
  return JSON.parse(`${Buffer.from(text, 'base64url')}`);
}

function signatureOf(secret: string, { method, path }: { method: string; path: string }, text: string): string {
  return createHmac('sha256', secret).update(`${method} ${path} ${text}`).digest('base64url');
}

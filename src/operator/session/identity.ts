import type { IncomingMessage } from 'node:http';
import { checkName } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import { includesRole, type Role } from '../../catalog/operator/access.ts';
import { AddressList } from '../../stdx/address-list.ts';

/** The settings of a sign-in by a proxy in front; names of headers in lower case. */
export interface IdentitySettings {
  readonly header: string;
  readonly roleHeader?: string | undefined;
  /** Addresses and CIDRs. */
  readonly proxies: readonly string[];
  /** The role of each name in the role header; `*` stands for anyone who signed in. */
  readonly roles: readonly { readonly name: string; readonly role: Role }[];
}

/** Who signed in at a proxy. */
export interface Identity {
  readonly actor: string;
  readonly role: Role;
}

/**
 * Makes a function that finds who signed in at a proxy in front; undefined without its header. It throws
 * `insufficient_scope` if the header comes from any other address, and `insufficient_role` if no role is given.
 */
export function identityBy(settings: IdentitySettings): (request: IncomingMessage) => Identity | undefined {
  const { header, roleHeader = '', roles } = settings;
  const proxies = new AddressList(settings.proxies);
  return (request) => {
    const actor = headerValue(request, header);
    if (actor === undefined) return undefined;
    const { remoteAddress } = request.socket;
    if (!proxies.includes(remoteAddress))
      throw refused(`${header} counts only from the proxies in OPERATOR_IDENTITY_PROXIES, not from ${remoteAddress}`);
    // A proxy may have nothing to say of a request that needs no sign-in there.
    if (actor === '') return undefined;
    checkName(actor, 'operator');
    const sent = headerValue(request, roleHeader) ?? '';
    const names = ['*', ...sent.split(',').map((name) => name.trim())];
    const matching = roles.filter(({ name }) => names.includes(name)).map(({ role }) => role);
    const role = matching.find((one) => matching.every((other) => includesRole(one, other)));
    if (role) return { actor, role };
    const message = `${actor} is signed in at the proxy and has no role here: OPERATOR_ROLES has none of "${sent}"`;
    throw new CatalogError('insufficient_role', message);
  };
}

/** The value of a header, which proxies send as UTF-8; undefined without one. */
function headerValue({ headersDistinct }: IncomingMessage, name: string): string | undefined {
  const [value, second] = headersDistinct[name] ?? [];
  // One of them may be the caller's own.
  if (second !== undefined) throw refused(`${name} came twice; the proxy must set it in place of what it received`);
  return value && Buffer.from(value, 'latin1').toString().trim();
}

function refused(message: string): CatalogError {
  return new CatalogError('insufficient_scope', message);
}

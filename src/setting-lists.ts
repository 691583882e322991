import { ROLES, type Role } from './catalog/operator/access.ts';
import { isAddressOrCidr } from './stdx/address-list.ts';

/** Settings whose values are lists, separated by commas. Each reader throws an Error that says what it must be. */

const ROLE_RULE = /.=(viewer|keys|admin)$/;

export const hostNames = listOf('names such as ops.example, without scheme and port', (text) => /^[\w.-]+$/.test(text));

/** Reads origins of pages, or `*`. */
export const origins = listOf(
  'origins such as https://shop.example',
  (text) => text === '*' || URL.parse(text)?.origin === text,
);

/** Reads addresses and CIDRs. */
export const addresses = listOf('addresses or CIDRs such as 10.0.0.1 or 10.0.0.0/8', isAddressOrCidr);

const rules = listOf(`NAME=ROLE with the roles ${ROLES.join(', ')}`, (text) => ROLE_RULE.test(text));

/** Reads the settings of a sign-in by a proxy in front, which go together; undefined without one. */
export function readIdentity(
  read: <T>(
    name: `OPERATOR_${'IDENTITY_HEADER' | 'IDENTITY_PROXIES' | 'ROLE_HEADER' | 'ROLES'}`,
    parse: (text: string) => T,
  ) => T,
  mistakes: string[],
) {
  const header = read('OPERATOR_IDENTITY_HEADER', headerName);
  const roleHeader = read('OPERATOR_ROLE_HEADER', headerName);
  const proxies = read('OPERATOR_IDENTITY_PROXIES', addresses);
  const roles = read('OPERATOR_ROLES', roleRules);
  if (header === '' && [roleHeader, proxies, roles].some((each) => each?.length > 0))
    mistakes.push('OPERATOR_IDENTITY_HEADER: it must be set for the other settings of a sign-in to have an effect');
  if (header && (proxies?.length === 0 || roles?.length === 0))
    mistakes.push('OPERATOR_IDENTITY_HEADER: it needs OPERATOR_IDENTITY_PROXIES, and OPERATOR_ROLES such as *=viewer');
  return header ? { header, proxies, roles, ...(roleHeader && { roleHeader }) } : undefined;
}

function headerName(text: string): string {
  if (!/^[\w-]*$/.test(text)) throw new Error('it must be the name of a header, such as X-Forwarded-User');
  return text.toLowerCase();
}

function roleRules(text: string): { name: string; role: Role }[] {
  return rules(text).map((rule) => {
    const end = rule.lastIndexOf('=');
    return { name: rule.slice(0, end).trim(), role: rule.slice(end + 1) as Role };
  });
}

function listOf(about: string, isMember: (text: string) => boolean): (text: string) => string[] {
  return (text) => {
    const members = text.split(',').map((member) => member.trim());
    const named = members.filter((member) => member !== '');
    if (!named.every(isMember)) throw new Error(`it must be ${about}, separated by commas`);
    return named;
  };
}

import { BlockList, isIP } from 'node:net';

/** IP addresses and CIDRs (RFC 4632). An IPv4-mapped IPv6 address is in the list if its IPv4 address is. */
export class AddressList {
  readonly #list = new BlockList();

  /** Takes members for which `isAddressOrCidr` is true. */
  constructor(members: readonly string[]) {
    for (const member of members) {
      const [address = '', bits] = member.split('/');
      const family = familyOf(address);
      this.#list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
    }
  }

  /** True if the address of a socket, or a text, is one of the list. */
  includes(address = ''): boolean {
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address));
  }

  /** The last address that is not in the list; the first if all are. Skips texts that are none. */
  lastOutside(addresses: readonly string[]): string | undefined {
    const valid = addresses.map((each) => each.trim()).filter((each) => isIP(each) !== 0);
    return valid.findLast((each) => !this.includes(each)) ?? valid[0];
  }
}

/** True for an address, or a network of a prefix of at least one bit. */
export function isAddressOrCidr(text: string): boolean {
  const [, address = '', bits = '1'] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(bits) >= 1 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

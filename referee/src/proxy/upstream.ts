import { lookup } from 'node:dns/promises';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { getCACertificates } from 'node:tls';
import { Mistake } from '../mistake.ts';

/** Loopback, link-local and private addresses (RFC 1918, 3927, 4193, 4291). */
const LOCAL_NETWORKS = '127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 ::1/128 fc00::/7 fe80::/10';
const LOCAL = new BlockList();
for (const network of LOCAL_NETWORKS.split(' ')) {
  const [address = '', prefix] = network.split('/');
  LOCAL.addSubnet(address, Number(prefix), familyOf(address));
}

/** The parser met other bytes, or the handshake of TLS found no protocol in common. */
export const NO_HTTP1 = /^HPE_|^EPROTO$|NO_APPLICATION_PROTOCOL/;
export const OTHER_PROTOCOL = 'HTTP/2 only, or no HTTP';

export interface UpstreamOptions {
  readonly upstream: string;
  /** PEM certificates that are trusted besides the usual ones. */
  readonly ca?: string | undefined;
  /** True if the API may be elsewhere than on this machine or a private network. */
  readonly isRemote?: boolean | undefined;
}

export interface Upstream {
  readonly origin: string;
  readonly host: string;
  /** The path of its base address, without a slash at its end. */
  readonly path: string;
  /** Begins a request; `headers` is flat. */
  request(method: string, path: string, headers: readonly string[]): ClientRequest;
}

/** Checks the address of an API. Throws `Mistake`. */
export async function upstreamAt({ upstream, ca, isRemote = false }: UpstreamOptions): Promise<Upstream> {
  const url = URL.parse(upstream);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Mistake(`--upstream is "${upstream}"; write a base address such as http://127.0.0.1:3000/api`);
  }
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!isRemote)
    await requireLocal(hostname, 'The upstream', 'what a wrong client sends twice is then done twice there');
  const isHttps = url.protocol === 'https:';
  const trusted = isHttps && ca !== undefined ? { ca: [...getCACertificates('default'), ca] } : {};
  // An upstream of HTTP/2 alone then ends the handshake; else some answer 403 in HTTP/1.
  const tls = isHttps ? { ...trusted, ALPNProtocols: ['http/1.1'] } : {};
  return {
    origin: url.origin,
    host: url.host,
    path: url.pathname.replace(/\/+$/, ''),
    request: (method, path, headers) =>
      (isHttps ? httpsRequest : httpRequest)({
        hostname,
        port: url.port || (isHttps ? 443 : 80),
        method,
        path,
        headers,
        // A kept connection may be closed when it is used again, which would look like an upstream that fails.
        agent: false,
        ...tls,
      }),
  };
}

/** Throws `Mistake` unless a host is on this machine or a private network. */
export async function requireLocal(hostname: string, subject: string, danger: string): Promise<void> {
  const addresses = await lookup(hostname, { all: true }).catch((error: Error) => {
    throw new Mistake(`${subject} cannot be found: ${error.message}`);
  });
  const far = addresses.find(({ address }) => !LOCAL.check(address, familyOf(address)));
  if (!far) return;
  throw new Mistake(`${subject} is at ${far.address}, which is no private address; --remote allows that: ${danger}`);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

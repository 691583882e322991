import { isIP } from 'node:net';
import { quote } from '../catalog/validate.ts';
import { refusal } from '../http/errors.ts';
import { html } from '../http/html.ts';
import type { Answer, Exchange } from '../http/transport/exchange.ts';

/** A host, in brackets if it is an IPv6 address, and maybe a port (RFC 9110, section 7.2). */
const HOST = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/;

/**
 * The gate of the operator listener: gives a 421 if the request names another host than an IP address, localhost or
 * one of `names`. A page whose own name was made to lead to this address (DNS rebinding) would read metrics otherwise.
 * A request of HTTP/1.0 need not name a host.
 */
export function hostGate(names: readonly string[]): (exchange: Exchange) => Answer | undefined {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (exchange) => {
    const { host } = exchange.request.headers;
    if (host === undefined) return undefined;
    const [, address, name = ''] = HOST.exec(host) ?? [];
    if (isIP(address ?? name) !== 0 || known.has(name.toLowerCase())) return undefined;
    return misdirected(host);
  };
}

/** The same refusal as a page of the console. */
export async function misdirectedPage(refused: Answer): Promise<Answer> {
  const { barePage } = await import('./frame/layout.ts');
  return barePage({
    title: 'Another name is needed',
    status: refused.status,
    content: html`<h1>Another name is needed</h1>
<p role="alert">The operator listener is not called by the name in this address.</p>
<p>Use its IP address or <code>localhost</code>, or add the name to the setting <code>OPERATOR_HOSTS</code> and restart the service.</p>`,
  });
}

function misdirected(host: string): Answer {
  const message = `The operator listener is not called ${quote(host)}; use its IP address or localhost, or add the name to OPERATOR_HOSTS`;
  return refusal('misdirected_request', message);
}

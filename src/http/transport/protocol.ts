import type { IncomingMessage } from 'node:http';

/** What Node's types omit of a socket: its parser, which can show the packet that it is reading. */
interface Parsed {
  readonly parser?: { getCurrentBuffer?(): Buffer | undefined } | null;
}

/** Room for the name, behind the few spaces that the parser allows. */
const PROTOCOL_BYTES_MAX = 32;

/**
 * Whether a request line names another protocol, such as `RTSP/1.0`, which Node's parser reads as if it were HTTP.
 * Call it while the parser reports the request: only then is the packet at hand. A line that came in an earlier packet
 * than the end of its head passes, because it cannot be seen any more.
 */
export function namesAnotherProtocol({ url, socket }: IncomingMessage): boolean {
  const packet = (socket as Parsed).parser?.getCurrentBuffer?.();
  const target = ` ${url} `;
  const at = packet?.indexOf(target, 0, 'latin1') ?? -1;
  if (!packet || at < 0) return false;
  const start = at + target.length;
  return /^ *(RTSP|ICE)\//.test(packet.toString('latin1', start, start + PROTOCOL_BYTES_MAX));
}

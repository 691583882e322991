/** The hash slots of a Redis Cluster: the slot of a key, and the master of a slot. */
export const SLOT_COUNT = 16_384;

/** CRC16 (XMODEM) of each byte. */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The slot of all keys with this hash tag, the part between `{` and `}`; it is ASCII. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (let i = 0; i < tag.length; i += 1) {
    crc = ((crc << 8) & 0xffff) ^ (CRC[(crc >> 8) ^ tag.charCodeAt(i)] as number);
  }
  return crc % SLOT_COUNT;
}

/** A range of slots and its master, as `CLUSTER SLOTS` gives it; replicas follow. The host may be unknown. */
export type SlotRange = readonly [from: number, to: number, master: readonly [host: string | null, port: number]];

/** The answer of a node that a key is not on: its slot has moved, or the key has, of a slot that is about to move. */
export interface Redirection {
  readonly kind: 'MOVED' | 'ASK';
  readonly slot: number;
  readonly host: string;
  readonly port: number;
}

/** Reads `MOVED 3999 127.0.0.1:6381`; undefined for any other error. */
export function readRedirection({ message }: Error): Redirection | undefined {
  const [, kind, slot, host = '', port] = /^(MOVED|ASK) (\d+) (.*):(\d+)$/.exec(message) ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as Redirection['kind'], slot: Number(slot), host, port: Number(port) };
}

/** The address of a node of the cluster that a URL leads to. A host that is unknown to it is that of the URL. */
export function nodeUrl(url: string, host: string | null, port: number): string {
  const node = new URL(url);
  if (host && host !== '?') node.hostname = host.includes(':') ? `[${host}]` : host;
  node.port = `${port}`;
  // A cluster has one database.
  node.pathname = '';
  return node.href;
}

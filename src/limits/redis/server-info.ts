/** Why a server with `cluster_enabled:1` is refused: redirections to the node of a key are not followed. */
export const CLUSTER_REFUSED = {
  finding: 'It is a node of a cluster (cluster_enabled:1), and counting cannot follow keys to the other nodes',
  advice: 'set REDIS_URL to a server without cluster mode',
} as const;

export type ServerInfo = ReadonlyMap<string, string>;

/** Reads the text that INFO gives. */
export function readInfo(text: string): ServerInfo {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** True if a server with this information is a node of a cluster. */
export function isCluster(info: ServerInfo): boolean {
  return info.get('cluster_enabled') === '1';
}

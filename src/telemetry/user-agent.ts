const CHARACTERS_MAX = 100;

/** The first 100 printable characters of a `User-Agent` (RFC 9110, section 10.1.5), which may hold anything. */
export function clientOf(userAgent: string): string {
  const client = userAgent.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '');
  // A copy: a slice keeps all of it, which may be 16 KiB.
  return client.length > CHARACTERS_MAX ? Buffer.from(client, 'latin1').toString('latin1', 0, CHARACTERS_MAX) : client;
}

const CHARACTERS_MAX = 100;

/** The first 100 printable characters of a `User-Agent` (RFC 9110, section 10.1.5), which may hold anything. */
export function clientOf(userAgent: string): string {
  return userAgent.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '').slice(0, CHARACTERS_MAX);
}

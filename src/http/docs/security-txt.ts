import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Time } from '../../stdx/time.ts';
import type { PageHandler } from '../pages.ts';

const PATH = '/.well-known/security.txt';
const YEAR_SECONDS = 365 * DAY_SECONDS;

interface SecurityTxt {
  /** The public origin. */
  readonly origin: string;
  /** The URI for vulnerability reports. */
  readonly contact: string;
  readonly time: Time;
}

/** The page that says where to report vulnerabilities (RFC 9116). */
export function securityTxt({ origin, contact, time }: SecurityTxt): [string, PageHandler] {
  return [
    PATH,
    () => {
      const expires = new Date((time.now().unix + YEAR_SECONDS) * 1000).toISOString().replace('.000Z', 'Z');
      const lines = [`Contact: ${contact}`, `Expires: ${expires}`, 'Preferred-Languages: en'];
      // RFC 9116 requires https for web addresses.
      if (origin.startsWith('https:')) lines.push(`Canonical: ${origin}${PATH}`);
      const body = `${lines.join('\n')}\n`;
      return { status: 200, contentType: 'text/plain; charset=utf-8', cacheControl: 'public, max-age=86400', body };
    },
  ];
}

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { DAY_SECONDS } from '../stdx/duration.ts';

/** A certificate that ends sooner is warned of. */
export const CERTIFICATE_SECONDS_MIN = 14 * DAY_SECONDS;

/** When a certificate (PEM) ends, in Unix seconds. */
export function certificateEnd(certificate: string | Buffer): number {
  return Math.floor(new X509Certificate(certificate).validToDate.getTime() / 1_000);
}

/** True if a private key is that of a certificate (both PEM). Throws if one of them cannot be read. */
export function isPair(cert: string | Buffer, key: string | Buffer): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

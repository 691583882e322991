import { digest } from '../client/note.ts';

/** Fields of one connection (RFC 9110, section 7.6.1), besides those that `Connection` names. */
const HOP_BY_HOP = /^(connection|keep-alive|te|transfer-encoding|upgrade|proxy-.*)$/i;
/** Fields that are true of the upstream's own body only. */
const OF_THE_BODY = /^(etag|last-modified|content-length|content-md5|(content-|repr-)?digest|signature(-input)?)$/i;
const ADDRESS = /^(content-)?location$/i;
const CREDENTIALS = /^(authorization|cookie|(.*-)?(api-?key|key|token|secret|auth))$/i;
/** An address that is longer is not moved in a stream. */
const HELD_CHARACTERS_MAX = 300;
const NO_CREDENTIALS = /^(.*idempotency-key|sec-.*)$/i;

export type Fields = readonly (readonly [name: string, value: string])[];

/** The fields of a flat list, as Node reads them. */
export function fieldsOf(rawHeaders: readonly string[]): Fields {
  const fields: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    fields.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
  }
  return fields;
}

/** The first value of a field, by its lower-case name. */
export function fieldOf(fields: Fields, name: string): string | undefined {
  return fields.find(([each]) => each.toLowerCase() === name)?.[1];
}

/** True for the name of a field that shows who a caller is. */
function isCredential(name: string): boolean {
  return CREDENTIALS.test(name) && !NO_CREDENTIALS.test(name);
}

/** A digest of who a caller is, the same for its requests. */
export function credentialsOf(rawHeaders: readonly string[]): string {
  return digest(
    fieldsOf(rawHeaders)
      .filter(([name]) => isCredential(name))
      .join('\n'),
  );
}

/** The fields that a proxy passes on. */
export function endToEnd(fields: Fields): Fields {
  const named = fields
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((each) => each.trim().toLowerCase()));
  return without(fields, HOP_BY_HOP).filter(([name]) => !named.includes(name.toLowerCase()));
}

/** The fields without those whose name is like this. */
export function without(fields: Fields, name: RegExp): Fields {
  return fields.filter(([each]) => !name.test(each));
}

/** The fields for another body than the upstream's. */
export function forOtherBody(fields: Fields): Fields {
  return without(fields, OF_THE_BODY);
}

/** Moves the addresses of an upstream to the proxy before it. */
export class Mover {
  readonly #from: URL;
  readonly #to: string;
  readonly #inText: RegExp;

  constructor(from: string, to: string) {
    this.#from = new URL(from);
    this.#to = to;
    const [scheme = '', host = ''] = this.#from.origin.split('://');
    const escaped = (text: string) => text.replaceAll(/[^\w]/g, '\\$&');
    // JSON may escape slashes. The exact origin ends where no host and no port goes on.
    this.#inText = new RegExp(`${escaped(scheme)}:(?<slash>\\\\?/)\\k<slash>${escaped(host)}(?![\\w.:-])`, 'gi');
  }

  /** The fields with addresses in `Location`, `Content-Location`, `Link` and `Refresh`, and cookie domains, moved. */
  fields(fields: Fields): Fields {
    return fields.map(([name, value]) => {
      if (/^link$/i.test(name)) return [name, value.replaceAll(/<([^<>]*)>/g, (_, to) => `<${this.#address(to)}>`)];
      if (/^refresh$/i.test(name)) return [name, value.replace(/(url=)(.*)/i, (_, url, to) => url + this.#address(to))];
      if (/^set-cookie$/i.test(name)) return [name, this.#cookie(value)];
      return [name, ADDRESS.test(name) ? this.#address(value) : value];
    });
  }

  /** A text with the exact origin moved. */
  text(text: string): string {
    return text.replaceAll(this.#inText, (_, slash) => this.#to.replaceAll('/', slash));
  }

  /** The chunks of a text with the exact origin moved; the beginning of an address waits for its end. */
  async *stream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let held = '';
    for await (const chunk of chunks) {
      const text = this.text(held + chunk.toString('latin1'));
      const place = text.slice(-HELD_CHARACTERS_MAX).search(/h(t(t(p[^"\s]*)?)?)?$/i);
      held = place < 0 ? '' : text.slice(Math.max(0, text.length - HELD_CHARACTERS_MAX)).slice(place);
      const whole = text.slice(0, text.length - held.length);
      if (whole !== '') yield Buffer.from(whole, 'latin1');
    }
    if (held !== '') yield Buffer.from(this.text(held), 'latin1');
  }

  /** True if a text has the exact origin. */
  isIn(text: string): boolean {
    return text.search(this.#inText) >= 0;
  }

  #address(address: string): string {
    const isWithoutScheme = address.trim().startsWith('//');
    const url = URL.parse(address.trim(), isWithoutScheme ? this.#from.origin : undefined);
    if (url?.origin !== this.#from.origin) return address;
    const moved = `${this.#to}${url.pathname}${url.search}${url.hash}`;
    return isWithoutScheme ? moved.replace(/^https?:/, '') : moved;
  }

  #cookie(cookie: string): string {
    return cookie.replace(/;\s*domain=\.?([^;]*)/i, (attribute, domain: string) =>
      domain.trim().toLowerCase() === this.#from.hostname ? '' : attribute,
    );
  }
}

/** True if a media type is JSON, or of its family (RFC 6839, section 3.1). */
export function isJson(contentType: string | undefined): contentType is string {
  return /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType ?? '');
}

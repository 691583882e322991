/** Fields of one connection (RFC 9110, section 7.6.1), besides those that `Connection` names. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that are true of the upstream's own body only. */
const OF_THE_BODY: ReadonlySet<string> = new Set([
  'etag',
  'last-modified',
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'signature',
  'signature-input',
]);
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'link']);

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

/** The fields that a proxy passes on. */
export function endToEnd(fields: Fields): Fields {
  const named = fields
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((each) => each.trim().toLowerCase()));
  return fields.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !lower.startsWith('proxy-') && !named.includes(lower);
  });
}

/** The fields without those of these lower-case names. */
export function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return fields.filter(([name]) => !names.has(name.toLowerCase()));
}

/** The fields for another body than the upstream's. */
export function forOtherBody(fields: Fields): Fields {
  return without(fields, OF_THE_BODY);
}

/** The fields with absolute addresses of one origin moved to another. */
export function moved(fields: Fields, from: string, to: string): Fields {
  return fields.map(([name, value]) => {
    const lower = name.toLowerCase();
    if (!ADDRESSES.has(lower)) return [name, value];
    if (lower === 'link')
      return [name, value.replaceAll(/<([^<>]*)>/g, (_, target) => `<${movedAddress(target, from, to)}>`)];
    return [name, movedAddress(value, from, to)];
  });
}

function movedAddress(address: string, from: string, to: string): string {
  const url = URL.parse(address.trim());
  return url?.origin === from ? `${to}${url.pathname}${url.search}${url.hash}` : address;
}

/** True if a media type is JSON, or of its family (RFC 6839, section 3.1). */
export function isJson(contentType: string | undefined): contentType is string {
  return /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType ?? '');
}

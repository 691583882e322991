/** Fields of one connection (RFC 9110, section 7.6.1), besides those that `Connection` names. */
const HOP_BY_HOP = /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;
/** Fields that are true of the upstream's own body only. */
const OF_THE_BODY = /^(etag|last-modified|content-length|content-md5|(content-|repr-)?digest|signature(-input)?)$/i;
const ADDRESS = /^(content-)?location$/i;

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

/** The fields with absolute addresses of one origin moved to another. */
export function moved(fields: Fields, from: string, to: string): Fields {
  const move = (address: string) => movedAddress(address, from, to);
  return fields.map(([name, value]) => {
    if (/^link$/i.test(name)) return [name, value.replaceAll(/<([^<>]*)>/g, (_, target) => `<${move(target)}>`)];
    return [name, ADDRESS.test(name) ? move(value) : value];
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

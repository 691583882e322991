import type { Exchange } from './exchange.ts';
import { type Fields, isCredential } from './headers.ts';

const MASK = '***';

/** Recorded exchanges as an HTTP archive, version 1.2; credentials are masked. */
export function harOf(entries: readonly ReturnType<Exchange['seen']>[], origin: string): string {
  const creator = { name: 'api-referee', version: '1' };
  return JSON.stringify({ log: { version: '1.2', creator, entries: entries.map((entry) => entryOf(entry, origin)) } });
}

function entryOf({ note, url, request, answer }: ReturnType<Exchange['seen']>, origin: string) {
  const body = request.body?.toString('utf8');
  const ms = Math.max(0, note.answeredAt - note.at);
  return {
    startedDateTime: new Date(note.at).toISOString(),
    time: ms,
    request: {
      method: note.method,
      url: origin + url.replaceAll(/([?&][^=&]*(?:key|token|secret)[^=&]*=)[^&]*/gi, `$1${MASK}`),
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: headersOf(request.fields),
      queryString: [],
      ...(body && { postData: { mimeType: typeOf(request.fields), text: body } }),
      headersSize: -1,
      bodySize: request.body?.length ?? -1,
    },
    response: {
      status: answer.status,
      statusText: '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: headersOf(answer.fields),
      content: { size: answer.body.length, mimeType: typeOf(answer.fields), text: answer.body.toString('utf8') },
      redirectURL: '',
      headersSize: -1,
      bodySize: answer.body.length,
    },
    cache: {},
    timings: { send: 0, wait: ms, receive: 0 },
    comment: `${note.step ?? 'no step'}; ${note.isDelivered ? 'delivered' : 'not delivered'}`,
  };
}

function headersOf(fields: Fields): { readonly name: string; readonly value: string }[] {
  return fields.map(([name, value]) => ({
    name,
    value: isCredential(name) || /^set-cookie$/i.test(name) ? MASK : value,
  }));
}

function typeOf(fields: Fields): string {
  return fields.find(([name]) => /^content-type$/i.test(name))?.[1] ?? '';
}

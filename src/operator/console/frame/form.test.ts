import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Body } from '../../../http/transport/body.ts';
import type { Exchange } from '../../../http/transport/exchange.ts';
import { readForm } from './form.ts';

/** As far as `readForm` looks at an exchange. */
function exchangeOf(chunks: readonly Buffer[], headers: Record<string, string>): Exchange {
  const request = Object.assign(new PassThrough(), { headers });
  const body = new Body(request as unknown as IncomingMessage);
  for (const chunk of chunks) request.write(chunk);
  request.end();
  return { request, readBody: (bytesMax: number) => body.read(bytesMax) } as unknown as Exchange;
}

test('a form past 64 KiB is refused, announced or not, and so is what is no URL-encoded form', async () => {
  const type = 'application/x-www-form-urlencoded';
  const body = Buffer.alloc(65 * 1024, 'a&');
  for (const length of [{ 'content-length': `${body.length}` }, {}]) {
    await assert.rejects(readForm(exchangeOf([body], { 'content-type': type, ...length })), {
      code: 'payload_too_large',
    });
  }
  const read = (sent: string) => readForm(exchangeOf([Buffer.from('name=%C3%A4&name=b+c')], { 'content-type': sent }));
  for (const sent of [type, `${type} ; charset=utf-8`, type.toUpperCase()]) {
    assert.deepEqual((await read(sent)).getAll('name'), ['ä', 'b c']);
  }
  for (const sent of ['multipart/form-data; boundary=x', `${type}x`, 'text/plain', '']) {
    await assert.rejects(read(sent), { code: 'unsupported_media_type' }, sent);
  }
});

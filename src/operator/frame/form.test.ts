import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Body } from '../../http/transport/body.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { readForm } from './form.ts';

const MIB = 1024 * 1024;
const FILE_BYTES = 7 * MIB;
const TYPE = 'multipart/form-data; boundary=x';
const UNREADABLE = { code: 'malformed_request', message: 'The form cannot be read; send it again' };

const part = (head: string, content = '') => `--x\r\n${head}\r\n\r\n${content}\r\n`;
const fieldPart = (name: string, value = '') => part(`Content-Disposition: form-data; name="${name}"`, value);

/** As far as `readForm` looks at an exchange. */
function exchangeOf(chunks: readonly Buffer[], headers: Record<string, string>): Exchange {
  const request = Object.assign(new PassThrough(), { headers });
  const body = new Body(request as unknown as IncomingMessage);
  for (const chunk of chunks) request.write(chunk);
  request.end();
  return { request, readBody: (bytesMax: number) => body.read(bytesMax) } as unknown as Exchange;
}

function readWhole(body: Buffer, type = TYPE) {
  return readForm(exchangeOf([body], { 'content-type': type, 'content-length': `${body.length}` }), 8 * MIB);
}

const read = (text: string, type = TYPE) => readWhole(Buffer.from(text), type);

test('the fields of a form and every byte of its first file are read', async () => {
  const form = new FormData();
  form.append('name', 'ä "quoted"');
  form.append('name', '\r\n--');
  form.append('other', new File(['other'], 'a.csv'));
  const bytes = Buffer.alloc(FILE_BYTES, '\r\n--\u{0}\u{ff}');
  form.append('file', new File([bytes], 'ö "1".csv'));
  form.append('file', new File(['second'], 'c.csv'));
  const sent = new Response(form);
  const contentType = sent.headers.get('content-type') ?? '';
  const { fields, file } = await readWhole(Buffer.from(await sent.arrayBuffer()), contentType);
  assert.deepEqual(
    [...fields],
    [
      ['name', 'ä "quoted"'],
      ['name', '\r\n--'],
    ],
  );
  assert.equal(file?.name, 'ö "1".csv');
  assert.ok(file.bytes.equals(bytes));
});

test('a form past the bound of its page is refused, announced or not, and a URL-encoded one is always small', async () => {
  const body = Buffer.alloc(65 * 1024, 'a&');
  const tooLarge = { code: 'payload_too_large' };
  for (const length of [{ 'content-length': `${body.length}` }, {}]) {
    const multipart = { 'content-type': TYPE, ...length };
    await assert.rejects(readForm(exchangeOf([body], multipart), 64 * 1024), tooLarge);
    const encoded = { 'content-type': 'application/x-www-form-urlencoded', ...length };
    await assert.rejects(readForm(exchangeOf([body], encoded), 8 * MIB), tooLarge);
  }
});

test('what is not a form is refused, and so is one past the bounds', async () => {
  const most = fieldPart('a').repeat(100);
  assert.equal((await read(`${most}--x--`)).fields.size, 100);
  for (const text of ['', 'x', '--x', fieldPart('a'), `${fieldPart('a')}--y--`, `${most}${fieldPart('a')}--x--`])
    await assert.rejects(read(text), UNREADABLE, text.slice(0, 80));
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary=""']) {
    await assert.rejects(read(`${fieldPart('a')}--x--`, type), UNREADABLE, type);
  }
  assert.equal((await read(`${fieldPart('a')}--x--`, 'Multipart/Form-Data; Boundary="x"')).fields.size, 1);
});

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { Body } from '../../http/transport/body.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { readForm } from './form.ts';

const MIB = 1024 * 1024;
const FILE_BYTES = 31 * MIB;
const TYPE = 'multipart/form-data; boundary=x';
const END = '\r\n--x--\r\n';
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
  return readForm(exchangeOf([body], { 'content-type': type, 'content-length': `${body.length}` }), 32 * MIB);
}

const read = (text: string, type = TYPE) => readWhole(Buffer.from(text), type);

/** A form with a file of so many bytes, in chunks as they come from a socket. */
function upload(bytes: number): Buffer[] {
  const head = part('Content-Disposition: form-data; name="file"; filename="a.json"').slice(0, -2);
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, '{},{},'), Buffer.from(END)]);
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += 65_536) chunks.push(body.subarray(at, at + 65_536));
  return chunks;
}

test('a form is read as the platform reads it, with every byte of its file', async () => {
  const nearBoundary = fc.constantFrom('\r\n', '--', '\r\n--', '-', '\r', '\n', '"', 'ä');
  const text = fc.array(fc.oneof(fc.string(), nearBoundary)).map((parts) => parts.join(''));
  const name = fc.stringMatching(/^[\w .-]{1,20}$/);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(name, text), { maxLength: 10 }),
      fc.option(fc.tuple(name, fc.oneof(fc.uint8Array(), text))),
      async (fields, file) => {
        const form = new FormData();
        for (const [key, value] of fields) form.append(`f-${key}`, value);
        if (file) form.append('file', new File([file[1] as string], file[0]));
        const sent = new Response(form);
        const contentType = sent.headers.get('content-type') ?? '';
        const body = Buffer.from(await sent.arrayBuffer());
        const found = await readWhole(body, contentType);
        const expected = await new Response(body, { headers: { 'content-type': contentType } }).formData();
        const expectedFile = expected.get('file');
        expected.delete('file');
        assert.deepEqual([...found.fields], [...expected]);
        assert.equal(found.file?.name, file?.[0]);
        if (expectedFile instanceof File) assert.ok(found.file?.bytes.equals(await expectedFile.bytes()));
      },
    ),
  );
});

test('the end of a file is found wherever it lies', async () => {
  for (let length = 65_536 - 80; length <= 65_536 + 80; length += 1) {
    const body = Buffer.concat(upload(length));
    assert.equal((await readWhole(body)).file?.bytes.length, length);
  }
});

test('each chunk of a large file is copied once, and the event loop turns while its end is looked for', async () => {
  const chunks = upload(FILE_BYTES);
  const bytes = Buffer.concat(chunks);
  for (const length of [{ 'content-length': `${bytes.length}` }, { 'transfer-encoding': 'chunked' }]) {
    let turns = 0;
    let isRead = false;
    const exchange = exchangeOf(chunks, { 'content-type': TYPE, ...length });
    exchange.request.once('end', function turn(): void {
      turns += 1;
      if (!isRead) setImmediate(turn);
    });
    const { file } = await readForm(exchange, 32 * MIB);
    isRead = true;
    assert.ok(file?.bytes.equals(bytes.subarray(-FILE_BYTES - END.length, -END.length)));
    assert.equal(file?.bytes.buffer.byteLength, 'content-length' in length ? bytes.length : 32 * MIB);
    assert.ok(turns >= 31 * 16, `${turns} turns for 31 MiB`);
  }
});

test('a form past the bound of its page is refused, announced or not, and a URL-encoded one is always small', async () => {
  const body = Buffer.alloc(65 * 1024, 'a&');
  const tooLarge = { code: 'payload_too_large' };
  for (const length of [{ 'content-length': `${body.length}` }, {}]) {
    const multipart = { 'content-type': TYPE, ...length };
    await assert.rejects(readForm(exchangeOf([body], multipart), 64 * 1024), tooLarge);
    const encoded = { 'content-type': 'application/x-www-form-urlencoded', ...length };
    await assert.rejects(readForm(exchangeOf([body], encoded), 32 * MIB), tooLarge);
  }
});

test('only the first file of the field is taken', async () => {
  const file = (name: string, content: string) =>
    part(
      `Content-Disposition: form-data; name="${name}"; filename="${content}.csv"\r\nContent-Type: text/csv`,
      content,
    );
  const form = await read(`${file('other', 'a')}${file('file', 'b')}${file('file', 'c')}${fieldPart('f', 'd')}--x--`);
  assert.equal(form.file?.name, 'b.csv');
  assert.equal(form.file.bytes.toString(), 'b');
  assert.deepEqual([...form.fields], [['f', 'd']]);
});

test('what is not a form is refused, and so is one past the bounds', async () => {
  const most = fieldPart('a').repeat(100);
  assert.equal((await read(`${most}--x--`)).fields.size, 100);
  assert.equal((await read(`${fieldPart('a', 'b'.repeat(65_536))}--x--`)).fields.get('a')?.length, 65_536);
  for (const text of [
    '',
    'x',
    '--x',
    '--x\r\n',
    `${fieldPart('a')}--x`,
    fieldPart('a'),
    `${fieldPart('a')}--y--`,
    `${fieldPart('a')}--xy--`,
    `${part('Content-Type: text/plain')}--x--`,
    `${part('Content-Disposition: form-data')}--x--`,
    `${part('Content-Disposition: attachment; name="a"')}--x--`,
    `${part(`Content-Disposition: form-data; name="a"\r\nX: ${'y'.repeat(5_000)}`)}--x--`,
    `${fieldPart('a', 'b'.repeat(65_537))}--x--`,
    `${most}${fieldPart('a')}--x--`,
  ]) {
    await assert.rejects(read(text), UNREADABLE, text.slice(0, 80));
  }
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary=""']) {
    await assert.rejects(read(`${fieldPart('a')}--x--`, type), UNREADABLE, type);
  }
  assert.equal((await read(`${fieldPart('a')}--x--`, 'Multipart/Form-Data; Boundary="x"')).fields.size, 1);
});

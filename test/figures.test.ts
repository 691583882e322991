import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const read = (file: string) => readFileSync(fileURLToPath(new URL(`../${file}`, import.meta.url)), 'utf8');
/** A rate, or a comparison with a peer. */
const RATE = /\d (a second|requests\/s|creates\/s)|times (bare `node:http`|Express|Fastify|nginx)/;

test('the figures in the README are those of the committed run', () => {
  const [, shown] =
    /<!-- figures of bench\/results.md -->\n\n(.+?)\n\n<!-- end of figures -->/s.exec(read('README.md')) ?? [];
  const [, measured] = /^## In short\n\n(.+?)\n\n## /ms.exec(read('bench/results.md')) ?? [];
  assert.match(measured ?? '', RATE);
  assert.equal(shown, measured);
  assert.doesNotMatch(read('README.md').replace(shown ?? '', ''), RATE);
});

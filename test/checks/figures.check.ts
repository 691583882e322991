import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const read = (file: string) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
/** A rate, or a comparison with a peer. */
const RATE = /\d (a second|requests\/s|creates\/s)|times (bare `node:http`|Express|Fastify|nginx)/;

test('figures stand with the run that measured them, and not in the README', () => {
  const [, measured] = /^## In short\n\n(.+?)\n\n## /ms.exec(read('bench/results.md')) ?? [];
  assert.match(measured ?? '', RATE);
  assert.match(read('README.md'), /bench\/results\.md/);
  assert.doesNotMatch(read('README.md'), RATE);
});

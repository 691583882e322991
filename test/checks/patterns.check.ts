import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CountedPattern, STEPS_MAX } from './pattern-steps.ts';

/** No pattern takes more than its text is long: a caller could stall the service with a long one. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Behind what a pattern can follow, on a line as the formatter leaves it. */
const LITERAL =
  /(?<=(?:[=([!?:,]|=>|&&|\|\||\?\?|return) ?|^ +)\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[\n*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[\n])*)\/([dgimsuvy]*)(?=[.,;)\]\s])/gm;
const SIZE = 48;
const REPEATED_MIN = 8;
/** Twice the text takes twice the steps, and some. */
const GROWTH_MAX = 2.6;
const PATTERNS_MIN = 150;
/** Those over what an operator sets or types, or who builds a client. */
const OF_OWNERS = [
  'src/config.ts: /([?&][^=&]*(?:pass|%)[^=&]*=)[^&]*/gi',
  'src/config.ts: /\\?[^/]*=/',
  'client/src/transport.ts: /\\/+$/',
];
/** They assemble patterns; of those only the one for media types is met with text of a caller, and repeats. */
const ASSEMBLING = [
  'src/catalog/validate.ts',
  'src/http/docs/samples/block.ts',
  'src/http/transport/request.ts',
  'src/operator/api/requests.ts',
  'src/telemetry/recent-requests.ts',
];

interface Found {
  readonly file: string;
  readonly pattern: RegExp;
}

test('no pattern takes more steps than its text has characters, by more than a factor', () => {
  const found = [...patternsIn('src'), ...patternsIn('client/src'), ...patternsOfContracts()];
  assert.ok(found.length >= PATTERNS_MIN, `only ${found.length} patterns were found`);
  const grown = found.flatMap(({ file, pattern }) => {
    const text = slowestText(pattern);
    return text === undefined ? [] : [`${file}: ${pattern}`];
  });
  assert.deepEqual(grown, OF_OWNERS);
});

test('nor does one that is assembled', () => {
  const assembling = sourcesIn('src').filter(({ text }) => text.includes('new RegExp('));
  assert.deepEqual(assembling.map(({ file }) => file).sort(), ASSEMBLING);
  const parameter = patternsIn('src').find(({ pattern }) => pattern.source.startsWith(';[ \\t]*(?:([\\w!#'));
  assert.ok(parameter);
  const mediaType = new RegExp(`^application/json[ \\t]*((?:${parameter.pattern.source})*)$`, 'i');
  assert.equal(slowestText(mediaType), undefined);
});

test('what grows by the square or faster is noticed', () => {
  for (const pattern of [/\s+$/, /^(a+)+$/, /<!--.*?-->/s, /^a *b? *!/, /[^"]*" *$/])
    assert.ok(slowestText(pattern), `${pattern}`);
  for (const pattern of [/^\s+$/, /^(a|b)+$/, /a{1,3}!/, /^"[^"]*" *$/]) assert.equal(slowestText(pattern), undefined);
});

/** A text for which a pattern takes more than twice the steps for twice the length; undefined if none was found. */
function slowestText(pattern: RegExp): string | undefined {
  const counted = new CountedPattern(pattern);
  for (const { lead, characters } of counted.loops) {
    const pumps = [...characters].slice(0, 5);
    const pairs = pumps.flatMap((first) => pumps.filter((second) => second !== first).map((second) => first + second));
    for (const pump of new Set([...pumps, ...pairs, lead].filter(Boolean))) {
      for (const last of ['\u0001', '']) {
        const textOf = (factor: number) =>
          lead + pump.repeat(factor * Math.max(REPEATED_MIN, SIZE / pump.length)) + last;
        const [short = 0, long = 0] = [textOf(1), textOf(2)].map((text) => counted.stepsFor(text));
        if (short >= STEPS_MAX || long > GROWTH_MAX * short) return textOf(1);
      }
    }
  }
  return undefined;
}

function patternsIn(folder: string): Found[] {
  return sourcesIn(folder).flatMap(({ file, text }) =>
    [...text.matchAll(LITERAL)].map(([, source = '', flags]) => ({ file, pattern: new RegExp(source, flags) })),
  );
}

/** The files of the program without their comments. */
function sourcesIn(folder: string): { file: string; text: string }[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).sort();
  return files.flatMap((name) => {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) return [];
    const text = readFileSync(join(ROOT, folder, name), 'utf8').replace(/^ *(?:\/\/|\/\*|\*).*$/gm, '');
    return [{ file: `${folder}/${name}`, text }];
  });
}

/** Those that schemas have as text. */
function patternsOfContracts(): Found[] {
  return ['openapi.json', 'operator-openapi.json'].flatMap((file) => {
    const sources = new Set<string>();
    JSON.parse(readFileSync(join(ROOT, file), 'utf8'), (name, value) => {
      if (name === 'pattern' && typeof value === 'string') sources.add(value);
      return value;
    });
    return [...sources].map((source) => ({ file, pattern: new RegExp(source, 'u') }));
  });
}

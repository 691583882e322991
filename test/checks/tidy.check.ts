import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** House rules that no linter checks: names, sizes, and banned content. `rooms.check.ts` has those on imports. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILE_LINES_MAX = 600;
/** Above it a file holds one class or one state machine, which is not split at a number of lines. */
const MIXED_FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const COLUMNS_MAX = 120;
const FILES_SIDE_BY_SIDE_MAX = 20;
const README_WORDS_MAX = 450;

const sources = filesBelow('src').filter((file) => file.endsWith('.ts'));
const production = sources.filter((file) => !file.endsWith('.test.ts'));
const tests = [...sources.filter((file) => file.endsWith('.test.ts')), ...filesBelow('test')];
const client = filesBelow('client/src');
const bench = filesBelow('bench').filter((file) => /^bench\/[^/]+$/.test(file));
/** The pages that are read from beginning to end, which the changelog and the benchmark results are not. */
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'STYLE.md',
  'client/README.md',
  'collections/README.md',
  'bench/notes.md',
  ...pagesIn('docs'),
  ...pagesIn('decisions'),
];

/** What the service shows at /docs. */
const guide = pagesIn('src/http/docs/pages');

/** Code that is shown to readers is not code of ours. */
const withoutSamples = production.filter((file) => !file.startsWith('src/http/docs/samples/'));

test('only main reads the environment and the arguments', () => {
  assert.ok(production.length >= 30 && tests.length >= 8, `only ${production.length} files, ${tests.length} tests`);
  const readers = withoutSamples.filter((file) => /process\.(env|argv)\b/.test(read(file)));
  assert.deepEqual(readers, ['src/main.ts']);
});

test('only events writes to the log, and nothing to the console', () => {
  const writers = withoutSamples.filter((file) =>
    /\blog\.(trace|debug|info|warn|error|fatal)\(|console\.\w+\(/.test(read(file)),
  );
  assert.deepEqual(writers, ['src/telemetry/events.ts']);
});

test('files have kebab-case names, none of them vague, and no barrels', () => {
  for (const file of [...sources, ...tests, ...client, ...bench]) {
    const name = basename(file);
    assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.slow|\.check)?\.ts$/, file);
    assert.doesNotMatch(name, /^(index|utils?|helpers?|common|shared|misc|types|managers?|services)\./, file);
  }
});

test('no file and no function is too long', () => {
  const code = [...production, ...client, ...bench].filter((each) => !each.includes('/migrations/'));
  for (const file of [...code, ...tests]) {
    const lines = read(file).split('\n');
    assert.ok(lines.length <= FILE_LINES_MAX, `${file} has ${lines.length} lines`);
    // A suite is one function that registers many tests: only its file is held to a length.
    if (tests.includes(file)) continue;
    const classes = lines.filter((line) => /^(export )?class /.test(line)).length;
    assert.ok(
      lines.length <= MIXED_FILE_LINES_MAX || classes === 1,
      `${file} has ${lines.length} lines and ${classes} classes`,
    );
    let start: number | undefined;
    for (const [index, line] of lines.entries()) {
      if (/^(export )?(async )?function\b|^ {2}(static |override |async |#|get |set )*[#\w]+\(.*\{$/.test(line))
        start = index;
      if (start !== undefined && /^( {2})?\}$/.test(line)) {
        assert.ok(index - start < FUNCTION_LINES_MAX, `${file}:${start + 1} is ${index - start} lines long`);
        start = undefined;
      }
    }
  }
});

test('no folder holds too many files', () => {
  const besideTests = [...production, ...tests.filter((file) => file.startsWith('test/kit/'))];
  const folders = Map.groupBy(besideTests, dirname);
  assert.ok(folders.size >= 15, `only ${folders.size} folders`);
  for (const [folder, files] of folders) {
    assert.ok(files.length <= FILES_SIDE_BY_SIDE_MAX, `${folder} holds ${files.length} files`);
  }
});

test('no comment runs past the columns that the formatter holds code to', () => {
  const long = [...production, ...tests, ...client].flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        line.length > COLUMNS_MAX && /^\s*(\/?\*|\/\/)/.test(line) ? [`${file}:${index + 1}`] : [],
      ),
  );
  assert.deepEqual(long, []);
});

/** Caches that pay for themselves, each with its reason. Everything else is an argument. */
const MUTABLE_AT_THE_TOP = [
  'src/catalog/validate.ts: let ajv',
  'src/catalog/validate.ts: let ajvOfAll', // loading it takes a sixth of a start
  'src/http/limit-headers.ts: let lastPolicy', // most requests in a row are on one plan
  'src/http/transport/request.ts: let validHost', // nearly all requests name one host
  'src/stdx/time.ts: let lastFormatted', // a flood of refusals names one moment
  'src/storage/sql/keys.ts: const scopeLists', // 100,000 keys share a few sets of scopes
];
const MUTABLE =
  /^(?:export )?(let \w+|const [a-z]\w* = new \w*(?:Map|Set)\b|const [a-z]\w*(?:: [^=]+)? = (?:\[\]|\{\});)/gm;

test('no module keeps mutable state at its top', () => {
  const found = production.flatMap((file) =>
    [...read(file).matchAll(MUTABLE)].map(([, declared = '']) => `${file}: ${declared.split(' ', 2).join(' ')}`),
  );
  assert.deepEqual(found.sort(), MUTABLE_AT_THE_TOP);
});

test('no literal is spread into a literal to please the formatter', () => {
  const spread = [...sources, ...client].filter((file) => /\.\.\.[[{](?![^\n]*\bof\b)[^\n]*[\]}],?$/m.test(read(file)));
  assert.deepEqual(spread, []);
});

/** Written so that the pattern does not match itself. */
const BANNED_WORDS = /\b(whom?ever|(some|no)body|whatever (it)|hardly (ever)|by so (much))\b/gi;
/** The bad example in STYLE.md. */
const BANNED_WORDS_MAX = 2;

test('prose is plain: no banned words', () => {
  const found = [...sources, ...client, ...tests, ...bench, ...pages, ...guide].flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => [...line.matchAll(BANNED_WORDS)].map(([word]) => `${file}:${index + 1}: ${word}`)),
  );
  assert.ok(found.length <= BANNED_WORDS_MAX, found.join('\n'));
});

/** Exports that tests alone import, each with its reason. */
const EXPORTED_FOR_TESTS = [
  'src/service.ts: startService', // tests start it on parts of their own
  'src/storage/transfer.ts: TRANSFERRED', // a test asks whether every table is in it
  'src/telemetry/events.ts: accessLine', // compared with what pino would write
];

test('nothing is exported for tests alone', () => {
  const texts = new Map(production.map((file) => [file, read(file)]));
  const found = production.flatMap((file) =>
    // Operations are collected from their modules, without a word of their names.
    [...read(file).matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)\b(?! = operate\()/gm)]
      .map(([, name = '']) => name)
      .filter((name) => ![...texts].some(([other, text]) => other !== file && new RegExp(`\\b${name}\\b`).test(text)))
      .map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(found, EXPORTED_FOR_TESTS);
});

test('every exported function and class says what it promises', () => {
  const silent = [...production, ...client].flatMap((file) => {
    const lines = read(file).split('\n');
    return lines.flatMap((line, index) =>
      /^export (async )?(function|class) /.test(line) && !lines[index - 1]?.endsWith('*/')
        ? [`${file}:${index + 1}`]
        : [],
    );
  });
  assert.deepEqual(silent, []);
});

test('a docstring begins with the thing or the verb', () => {
  const found = production.flatMap((file) =>
    [...read(file).matchAll(/\/\*\*\s+(?:\* )?((?:What|Whether|How|Of)\b[^\n]*)/g)].map(
      ([, begin]) => `${file}: ${begin}`,
    ),
  );
  assert.deepEqual(found, []);
});

test('required files exist, and the lockfile names no registry', () => {
  for (const file of ['CHANGELOG.md', 'LICENSE', 'openapi.json', ...pages])
    assert.ok(existsSync(join(ROOT, file)), `${file} is missing`);
  const locks = ['.', 'bench/peers/express', 'bench/peers/fastify'].map((folder) => join(folder, 'package-lock.json'));
  for (const lock of locks) assert.doesNotMatch(read(lock), /"resolved": "https?:/, lock);
});

test('the lockfile has the packages of every platform, or `npm ci` refuses it', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const missing = Object.values(packages)
    .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    .filter((name) => !packages[`node_modules/${name}`]);
  assert.deepEqual(missing, []);
});

test('the files that the pages name or link to exist', () => {
  for (const page of [...pages, ...guide]) {
    const text = read(page);
    const named = text.matchAll(/`((?:src|test|docs|decisions|bin|bench|runtime|deploy|client)\/[\w./-]*)`/g);
    for (const [, file = ''] of named) assert.ok(existsSync(join(ROOT, file)), `${page} names ${file}`);
    for (const [, file = ''] of text.matchAll(/\]\((?!https:|\/)([^)#]+)/g))
      assert.ok(existsSync(join(ROOT, dirname(page), file)), `${page} links to ${file}`);
  }
});

test('the README fits on a screen and a half', () => {
  assert.ok(pages.length >= 20 && guide.length >= 8, `only ${pages.length} pages and ${guide.length} of the guide`);
  const words = wordsOf('README.md');
  assert.ok(words <= README_WORDS_MAX, `the README has ${words} words`);
});

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}

function wordsOf(page: string): number {
  // Bullets, table bars and other marks are no words. Tables that a command writes are looked up, and not read.
  return read(page)
    .replaceAll(/<!-- (\w+) -->[\s\S]*?<!-- \/\1 -->/g, '')
    .split(/\s+/)
    .filter((token) => /[\p{L}\p{N}]/u.test(token)).length;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

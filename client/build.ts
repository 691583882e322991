import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds dist/, or the folder that is named: the modules joined to one file, as ES module and as CommonJS, with a
 * source map and declarations. Joined, a browser fetches one file. Comments and indentation go; names stay.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = process.argv[2] ?? join(HERE, 'dist');
const ENTRY = 'pet-catalog';
const IMPORT = /^(?:import|export) .* from '\.\/(.+)\.js';$/;
const EXPORT = /^export \{.*\}.*;$/;
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** A line of the joined file. */
interface Line {
  readonly text: string;
  readonly module: string;
  /** Its place in the module, and the columns that were cut off its beginning. */
  readonly index: number;
  readonly cut: number;
}

const modules = mkdtempSync(join(tmpdir(), 'pet-catalog-client-'));
try {
  rmSync(DIST, { recursive: true, force: true });
  compile('--declaration', '--emitDeclarationOnly', '--outDir', DIST);
  for (const file of readdirSync(DIST)) declare(file);
  compile('--removeComments', '--sourceMap', '--outDir', modules);
  const lines = joined();
  const names = exportedNames().join(', ');
  // The same first line in both formats, so that one map serves both.
  const code = `'use strict';\n${lines.map(({ text }) => text).join('\n')}`;
  const mapped = `//# sourceMappingURL=${ENTRY}.js.map\n`;
  writeFileSync(join(DIST, `${ENTRY}.js`), `${code}\nexport { ${names} };\n${mapped}`);
  writeFileSync(join(DIST, `${ENTRY}.cjs`), `${code}\nmodule.exports = { ${names} };\n${mapped}`);
  writeFileSync(join(DIST, `${ENTRY}.js.map`), JSON.stringify(sourceMap(lines)));
} finally {
  rmSync(modules, { recursive: true, force: true });
}

function compile(...args: string[]): void {
  execFileSync('tsc', ['-p', HERE, ...args], { stdio: 'inherit' });
}

/** Rewrites the imports of a declaration file, and copies it for CommonJS. */
function declare(file: string): void {
  const text = readFileSync(join(DIST, file), 'utf8');
  const importing = (extension: string) => text.replace(/( from '\.\/.*)\.ts';$/gm, `$1.${extension}';`);
  writeFileSync(join(DIST, file), importing('js'));
  writeFileSync(join(DIST, file.replace(/\.ts$/, '.cts')), importing('cjs'));
}

/** The lines of each module after those of the modules that it imports. A name declared twice is a syntax error. */
function joined(): Line[] {
  const order = new Set<string>();
  const visit = (module: string) => {
    for (const line of linesOf(module)) {
      const imported = IMPORT.exec(line)?.[1];
      if (imported) visit(imported);
    }
    order.add(module);
  };
  visit(ENTRY);
  return [...order].flatMap((module) =>
    linesOf(module).flatMap((line, index) => {
      if (IMPORT.test(line) || EXPORT.test(line) || line.startsWith('//') || line === '') return [];
      const text = line.replace(/^(export | +)/, '');
      return { text, module, index, cut: line.length - text.length };
    }),
  );
}

/** What the entry exports, its own classes and those of other modules. */
function exportedNames(): string[] {
  return linesOf(ENTRY).flatMap((line) => {
    const [, own, others] = /^export (?:class (\w+)|\{ (.*) \})/.exec(line) ?? [];
    return own ?? others?.split(', ') ?? [];
  });
}

/** The map of the joined file (ECMA-426): for each column where the source position changes, that position. */
function sourceMap(lines: readonly Line[]) {
  const sources = [...new Set(lines.map(({ module }) => module))];
  const maps = sources.map(
    (module) => new SourceMap(JSON.parse(readFileSync(join(modules, `${module}.js.map`), 'utf8'))),
  );
  const last = { source: 0, line: 0, column: 0 };
  const mappings = lines.map(({ text, module, index, cut }) => {
    const source = sources.indexOf(module);
    const segments: string[] = [];
    for (let [column, lastColumn] = [0, 0]; column < text.length; column += 1) {
      const entry = maps[source]?.findEntry(index, column + cut);
      if (!entry || !('originalLine' in entry) || entry.generatedLine !== index) continue;
      if (column > 0 && entry.generatedColumn !== column + cut) continue;
      const { originalLine, originalColumn } = entry;
      const changes = [
        column - lastColumn,
        source - last.source,
        originalLine - last.line,
        originalColumn - last.column,
      ];
      segments.push(changes.map(variableLength).join(''));
      Object.assign(last, { source, line: originalLine, column: originalColumn });
      lastColumn = column;
    }
    return segments.join(',');
  });
  return {
    version: 3,
    sources: sources.map((module) => `../src/${module}.ts`),
    sourcesContent: sources.map((module) => readFileSync(join(HERE, 'src', `${module}.ts`), 'utf8')),
    names: [],
    mappings: `;${mappings.join(';')}`,
  };
}

/** A number in base 64, five bits at a time, the sign in the lowest bit (ECMA-426, Base64 VLQ). */
function variableLength(value: number): string {
  let text = '';
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  do {
    const digit = rest & 31;
    rest >>= 5;
    text += BASE64[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}

function linesOf(module: string): string[] {
  return readFileSync(join(modules, `${module}.js`), 'utf8').split('\n');
}

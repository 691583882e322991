import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** No file imports itself by way of others, types included: what depends on what is then a matter of direction. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORT = /^(?:import|export)\s[^;]*?\sfrom '(\.[^']+)';/gms;

const graph = new Map(
  globSync('{src,client/src,bench,test,collections}/**/*.ts', { cwd: ROOT }).map((file) => [
    file,
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)].map(([, path = '']) => join(dirname(file), path)),
  ]),
);

test('no circle of imports exists', () => {
  assert.ok([...graph.values()].flat().length > 1_500, 'the import pattern finds nothing');
  assert.deepEqual(circleIn(graph), []);
  const circle = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ]);
  assert.deepEqual(circleIn(circle), ['b', 'd', 'b'], 'it finds one');
});

/** The first circle found; empty without one. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const search = (file: string, way: readonly string[]): readonly string[] => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return [];
    const found = (imports.get(file) ?? [])
      .map((next) => search(next, [...way, file]))
      .find(({ length }) => length > 0);
    done.add(file);
    return found ?? [];
  };
  return [...imports.keys()].map((file) => search(file, [])).find(({ length }) => length > 0) ?? [];
}

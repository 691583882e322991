import { readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** Reads a contract with shared responses and parameters put where they are referred to. References to schemas stay. */
export function readContract<T>(file = 'openapi.json'): T {
  const contract = JSON.parse(readFileSync(new URL(file, ROOT), 'utf8'));
  return JSON.parse(JSON.stringify(contract), (_key, part) => {
    const [, kind = '', name = ''] = /^#\/components\/(responses|parameters)\/(\w+)$/.exec(part?.$ref) ?? [];
    return kind ? contract.components[kind][name] : part;
  });
}

import { ConfigMistakes } from '../../config.ts';
import { CATEGORY_DEFECTS } from './categories.ts';
import type { Defect } from './fault.ts';
import { HTTP_DEFECTS } from './http.ts';
import { LIMIT_DEFECTS } from './limits.ts';

const TABLES = [CATEGORY_DEFECTS, HTTP_DEFECTS, LIMIT_DEFECTS];

/** Every defect that a service in rehearsal can be given. */
export const DEFECTS: readonly Defect[] = TABLES.flatMap((table) =>
  Object.entries(table).map(([written, fault]) => {
    const [, rule = '', name = '', description = ''] = /^(\S+) (\S+): (.*)$/.exec(written) ?? [];
    return { name, rule, description, fault };
  }),
);

/** The defects of these names. Throws `ConfigMistakes` if one does not exist. */
export function defectsNamed(names: readonly string[]): Defect[] {
  return names.map((name) => {
    const found = DEFECTS.find((each) => each.name === name);
    if (!found) throw new ConfigMistakes([`DEFECT: there is no defect "${name}"; \`pet-catalog defects\` lists them`]);
    return found;
  });
}

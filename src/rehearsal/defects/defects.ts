import { ConfigMistakes } from '../../config.ts';
import { CATEGORY_DEFECTS } from './categories.ts';
import type { Defect } from './defect.ts';
import { ERROR_DEFECTS } from './errors.ts';
import { HTTP_DEFECTS } from './http.ts';
import { LIMIT_DEFECTS } from './limits.ts';

/** Every defect that a service in rehearsal can be given. */
export const DEFECTS: readonly Defect[] = [...CATEGORY_DEFECTS, ...ERROR_DEFECTS, ...LIMIT_DEFECTS, ...HTTP_DEFECTS];

/** The defects of these names. Throws `ConfigMistakes` if one does not exist. */
export function defectsNamed(names: readonly string[]): Defect[] {
  return names.map((name) => {
    const defect = DEFECTS.find((each) => each.name === name);
    if (!defect) throw new ConfigMistakes([`DEFECT: there is no defect "${name}"; \`pet-catalog defects\` lists them`]);
    return defect;
  });
}

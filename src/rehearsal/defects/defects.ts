import { ConfigMistakes } from '../../config.ts';
import { ANSWER_DEFECTS } from './answers.ts';
import { CATEGORY_DEFECTS } from './categories.ts';
import type { Defect } from './defect.ts';
import { ERROR_DEFECTS } from './errors.ts';
import { HEADER_DEFECTS } from './headers.ts';
import { HTTP_DEFECTS } from './http.ts';
import { LIMIT_DEFECTS } from './limits.ts';
import { PROTOCOL_DEFECTS } from './protocol.ts';

/** Every defect that a service in rehearsal can be given. */
export const DEFECTS: readonly Defect[] = [
  ...CATEGORY_DEFECTS,
  ...ANSWER_DEFECTS,
  ...ERROR_DEFECTS,
  ...LIMIT_DEFECTS,
  ...HEADER_DEFECTS,
  ...HTTP_DEFECTS,
  ...PROTOCOL_DEFECTS,
];

/** The defects of these names. Throws `ConfigMistakes` if one does not exist. */
export function defectsNamed(names: readonly string[]): Defect[] {
  return names.map((name) => {
    const found = DEFECTS.find((each) => each.name === name);
    if (!found) throw new ConfigMistakes([`DEFECT: there is no defect "${name}"; \`pet-catalog defects\` lists them`]);
    return found;
  });
}

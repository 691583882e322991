import type { Operator } from '../../src/catalog/audit.ts';

/** Who changes things by hand in tests. */
export const OPERATOR: Operator = { actor: 'test', via: 'cli' };

import type { Operator } from '../../src/catalog/audit.ts';

/** The operator recorded for manual changes in tests. */
export const OPERATOR: Operator = { actor: 'test', via: 'cli' };

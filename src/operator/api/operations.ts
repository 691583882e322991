import { auditOperations } from './audit.ts';
import { banOperations } from './bans.ts';
import { categoryOperations } from './categories.ts';
import { keyOperations } from './keys.ts';
import type { ApiOperation } from './operation.ts';
import { requestOperations } from './requests.ts';
import { usageOperations } from './usage.ts';

/** Every operation of the operator API. Its router and its contract are both made from this list. */
export const API_OPERATIONS: readonly ApiOperation[] = [
  ...keyOperations,
  ...banOperations,
  ...requestOperations,
  ...usageOperations,
  ...auditOperations,
  ...categoryOperations,
];

import type { Rule, RuleTable } from './rule.ts';
import { AUTHENTICATION } from './rules/authentication.ts';
import { BANS } from './rules/bans.ts';
import { CATEGORIES } from './rules/categories.ts';
import { ERRORS } from './rules/errors.ts';
import { HTTP } from './rules/http.ts';
import { ALL_LIMIT_HEADERS, LIMIT_HEADERS } from './rules/limit-headers.ts';
import { LIMITS } from './rules/limits.ts';
import { VALIDATION } from './rules/validation.ts';

const TABLES: readonly RuleTable[] = [
  CATEGORIES,
  VALIDATION,
  AUTHENTICATION,
  ERRORS,
  LIMIT_HEADERS,
  HTTP,
  LIMITS,
  BANS,
  ALL_LIMIT_HEADERS,
];

/** Every rule, by subject: what creates first, what waits last. */
export const RULES: readonly Rule[] = TABLES.flatMap((table) =>
  Object.entries(table).map(([id, rule]) => ({ id, ...rule })),
);

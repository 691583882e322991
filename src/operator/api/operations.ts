import * as audit from './audit.ts';
import * as bans from './bans.ts';
import * as categories from './categories.ts';
import * as keys from './keys.ts';
import type { OperatorOperation } from './operation.ts';
import * as orders from './orders.ts';
import * as pets from './pets.ts';
import * as requests from './requests.ts';
import * as sessions from './sessions.ts';
import * as tokens from './tokens.ts';
import * as usage from './usage.ts';
import * as why from './why.ts';

const NOUNS = [keys, bans, categories, pets, orders, usage, requests, why, audit, tokens, sessions];

/** Every operation that a noun exports. The router and the contract are made from this list. */
export const OPERATOR_OPERATIONS: readonly OperatorOperation[] = NOUNS.flatMap((noun) =>
  Object.values<unknown>({ ...noun }).filter(isOperation),
);

function isOperation(exported: unknown): exported is OperatorOperation {
  return typeof exported === 'object' && exported !== null && 'handle' in exported;
}

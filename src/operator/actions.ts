import type { Action } from './action.ts';
import { categoryActions } from './catalog/actions.ts';
import { keyActions } from './keys/actions.ts';
import { sessionActions, tokenActions } from './session/actions.ts';

/** Every change that an operator makes by the console, the API and the commands. */
export const ACTIONS: readonly Action[] = [...keyActions, ...categoryActions, ...tokenActions, ...sessionActions];

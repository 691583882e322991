import { audit } from './audit.ts';
import { categories } from './catalog/categories.ts';
import { orders, pets } from './catalog/pets-and-orders.ts';
import { bans, keys } from './keys/resources.ts';
import { requests } from './requests/resource.ts';
import type { AnyResource } from './resource.ts';
import { sessions, tokens } from './session/resources.ts';

/** Every list; that of usage has rows of many forms, and is by hand. */
export const RESOURCES: readonly AnyResource[] = [
  keys,
  bans,
  requests,
  audit,
  categories,
  pets,
  orders,
  sessions,
  tokens,
];

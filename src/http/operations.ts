import { CREATE_CATEGORY, GET_CATEGORY, LIST_CATEGORIES } from './operations/categories.ts';
import { GET_INVENTORY, LIST_INVENTORY, UPDATE_INVENTORY } from './operations/inventory.ts';
import type { Operation } from './operations/operation.ts';
import { CANCEL_ORDER, GET_ORDER, LIST_ORDERS, PLACE_ORDER } from './operations/orders.ts';
import { CREATE_PET, GET_PET, LIST_PETS, UPDATE_PET } from './operations/pets.ts';
import { GET_RATE_LIMIT } from './operations/rate-limit.ts';

/** Every operation of the interface. The router and the contract are both generated from this list. */
export const OPERATIONS: readonly Operation[] = [
  LIST_CATEGORIES,
  CREATE_CATEGORY,
  GET_CATEGORY,
  LIST_PETS,
  CREATE_PET,
  GET_PET,
  UPDATE_PET,
  LIST_ORDERS,
  PLACE_ORDER,
  GET_ORDER,
  CANCEL_ORDER,
  LIST_INVENTORY,
  GET_INVENTORY,
  UPDATE_INVENTORY,
  GET_RATE_LIMIT,
];

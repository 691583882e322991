import { createCategory, getCategory, listCategories } from './operations/categories.ts';
import { getInventory, listInventory, updateInventory } from './operations/inventory.ts';
import type { Operation } from './operations/operation.ts';
import { cancelOrder, getOrder, listOrders, placeOrder } from './operations/orders.ts';
import { createPet, getPet, listPets, updatePet } from './operations/pets.ts';
import { getRateLimit } from './operations/rate-limit.ts';

/** Every operation of the interface. The router and the contract are both generated from this list. */
export const OPERATIONS: readonly Operation[] = [
  listCategories,
  createCategory,
  getCategory,
  listPets,
  createPet,
  getPet,
  updatePet,
  listOrders,
  placeOrder,
  getOrder,
  cancelOrder,
  listInventory,
  getInventory,
  updateInventory,
  getRateLimit,
];

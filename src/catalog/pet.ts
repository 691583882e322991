import type { Static } from 'typebox';
import type { History } from './audit.ts';
import { invalid } from './error.ts';
import type { Once, OnceId } from './idempotency.ts';
import { Id, type Made, Name, type NewestQuery, type PageQuery, type Precondition } from './resource.ts';
import { mistyped, objectOf, validator } from './validate.ts';

export const STOCK_MAX = 1_000_000;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

export const PetStatus = {
  enum: PET_STATUSES,
  type: 'string',
  description: 'How the pet stands in the store; a pending one is reserved',
} as const;

const fields = {
  name: { ...Name, description: 'Pet name', example: 'Rex' },
  categoryId: { ...Id, description: 'The category of the pet' },
} as const;

/** The body that creates a pet. Unknown members are ignored. */
export const NewPet = objectOf('NewPet', 'A pet to be created', {
  required: ['name', 'categoryId'],
  properties: {
    ...fields,
    status: { ...PetStatus, description: `${PetStatus.description}; \`available\` if not given` },
  },
});

/** A validated pet, with its defaults filled in. */
export type NewPet = Required<Static<typeof NewPet>>;

/** The body that changes a pet. Unknown members are ignored. */
export const PetUpdate = objectOf('PetUpdate', 'The members of a pet to be changed, at least one', {
  minProperties: 1,
  properties: { ...fields, status: PetStatus },
});

/** A validated change of at least one member. */
export type PetUpdate = { readonly [Member in keyof NewPet]?: NewPet[Member] | undefined };

export const Pet = objectOf('Pet', 'A pet of the catalog', {
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: { ...Id, description: 'Unique identifier, assigned by the service' },
    ...fields,
    status: PetStatus,
  },
});
export type Pet = Static<typeof Pet>;

/** A pet with its stock. */
export type StockedPet = Pet & { readonly quantity: number };

export const InventoryItem = objectOf('InventoryItem', 'The stock of a pet', {
  required: ['petId', 'quantity', 'status'],
  properties: {
    petId: { ...Id, description: 'The pet' },
    quantity: { type: 'integer', minimum: 0, maximum: STOCK_MAX, description: 'How many there are' },
    status: PetStatus,
  },
});
export type InventoryItem = Static<typeof InventoryItem>;

export const NewQuantity = objectOf('NewQuantity', 'A stock to be set', {
  required: ['quantity'],
  properties: { quantity: InventoryItem.properties.quantity },
});

const checkPet = validator(NewPet);
/** An empty body is refused below, together with one that has only unknown members. */
const checkUpdate = validator({ ...PetUpdate, minProperties: 0 } as const);
const checkQuantity = validator(NewQuantity);

/** Reads a NewPet from parsed JSON. Throws `validation_failed`. */
export function newPet(body: unknown): NewPet {
  const { name, categoryId, status = 'available' } = checkPet(body);
  return { name, categoryId, status };
}

/** Reads a PetUpdate from parsed JSON. Throws `validation_failed`. */
export function petUpdate(body: unknown): PetUpdate {
  const { name, categoryId, status } = checkUpdate(body);
  if (name === undefined && categoryId === undefined && status === undefined) {
    const advice = mistyped(body as object, Object.keys(PetUpdate.properties)) ?? 'send name, categoryId or status';
    throw invalid(`The body changes nothing; ${advice}`);
  }
  return { name, categoryId, status };
}

/** Reads a stock from parsed JSON. Throws `validation_failed`. */
export function newQuantity(body: unknown): number {
  return checkQuantity(body).quantity;
}

/** The stock of a new pet. */
export function firstStock(status: PetStatus): number {
  return status === 'sold' ? 0 : 1;
}

/** Keeps the status in step with the stock: without stock a pet is sold, and a sold one back in stock is available. */
export function statusAt(quantity: number, status: PetStatus): PetStatus {
  if (quantity === 0) return 'sold';
  return status === 'sold' ? 'available' : status;
}

/** Keeps the stock in step with the status: a sold pet has none, any other at least one. */
export function stockAt(status: PetStatus, quantity: number): number {
  return status === 'sold' ? 0 : Math.max(quantity, 1);
}

/** Selects pets: those with one of the ids, of the status and of the category, as far as these are given. */
export interface PetFilter extends Pick<PetUpdate, 'status' | 'categoryId'> {
  /** Few: all of them are read. */
  readonly ids?: readonly number[] | undefined;
}

export interface PetStorage {
  /** Throws `validation_failed` if there is no such category. */
  insert(pet: NewPet, by: OnceId): Promise<Once<Pet>>;
  find(id: number): Promise<Pet | undefined>;
  /** A page of pets, ids ascending. Its cost does not grow with the number of pets that the filter leaves out. */
  list(page: PageQuery & PetFilter): Promise<Pet[]>;
  newest(query: NewestQuery<StockedPet>): Promise<Made<StockedPet>[]>;
  /**
   * Changes a pet, and the stock with its status. Undefined if there is no such pet. Throws what `precondition` throws,
   * or `validation_failed` if there is no such category.
   */
  update(id: number, change: PetUpdate, by: OnceId, precondition?: Precondition<Pet>): Promise<Pet | undefined>;
  findInventory(petId: number): Promise<InventoryItem | undefined>;
  /** A page of the stock of each pet, ids ascending. */
  listInventory(page: PageQuery): Promise<InventoryItem[]>;
  /** Sets the stock, and the status with it. Undefined if there is no such pet. Throws what `precondition` throws. */
  setQuantity(
    petId: number,
    quantity: number,
    by: OnceId,
    precondition?: Precondition<InventoryItem>,
  ): Promise<InventoryItem | undefined>;
  /** A pet with its stock and its changes, but those by orders, which have their own. Undefined if there is none. */
  history(id: number): Promise<History<StockedPet> | undefined>;
}

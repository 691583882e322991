import type { Static } from 'typebox';
import { Id, Name } from './category.ts';
import type { Created, Origin } from './idempotency.ts';
import type { PageQuery } from './page.ts';
import { validator } from './validate.ts';

export const STOCK_MAX = 1_000_000;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** How a pet stands in the store. */
export const PetStatus = {
  enum: PET_STATUSES,
  type: 'string',
  description: 'How the pet stands in the store',
} as const;

const fields = {
  name: { ...Name, description: 'Pet name', example: 'Rex' },
  categoryId: { ...Id, description: 'The category of the pet' },
} as const;

/** What a caller sends to create a pet. Members that it does not name are ignored. */
export const NewPet = {
  title: 'NewPet',
  type: 'object',
  required: ['name', 'categoryId'],
  properties: { ...fields, status: { ...PetStatus, default: 'available' } },
  description: 'A pet to be created',
} as const;

/** A pet that was checked and has its defaults. */
export interface NewPet {
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
}

/** A pet as callers see it. */
export const Pet = {
  title: 'Pet',
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: { ...Id, description: 'Unique identifier, assigned by the service' },
    ...fields,
    status: PetStatus,
  },
  description: 'A pet of the catalog',
} as const;
export type Pet = Static<typeof Pet>;

/** How many of a pet there are. */
export const InventoryItem = {
  title: 'InventoryItem',
  type: 'object',
  required: ['petId', 'quantity', 'status'],
  properties: {
    petId: { ...Id, description: 'The pet' },
    quantity: { type: 'integer', minimum: 0, maximum: STOCK_MAX, description: 'How many there are' },
    status: PetStatus,
  },
  description: 'The stock of a pet',
} as const;
export type InventoryItem = Static<typeof InventoryItem>;

/** What a caller sends to set a stock. */
export const NewQuantity = {
  title: 'NewQuantity',
  type: 'object',
  required: ['quantity'],
  properties: { quantity: InventoryItem.properties.quantity },
  description: 'A stock to be set',
} as const;

const checkPet = validator(NewPet);
const checkQuantity = validator(NewQuantity);

/** Reads a NewPet out of parsed JSON. Throws `validation_failed`. */
export function newPet(body: unknown): NewPet {
  const { name, categoryId, status = 'available' } = checkPet(body);
  return { name, categoryId, status };
}

/** Reads a stock out of parsed JSON. Throws `validation_failed`. */
export function newQuantity(body: unknown): number {
  return checkQuantity(body).quantity;
}

/** The stock that a new pet has. */
export function firstStock(status: PetStatus): number {
  return status === 'sold' ? 0 : 1;
}

/** Stock and status move together: without stock a pet is sold, and a sold pet that is in stock again is available. */
export function statusAt(quantity: number, status: PetStatus): PetStatus {
  if (quantity === 0) return 'sold';
  return status === 'sold' ? 'available' : status;
}

export interface PetStorage {
  /** Throws `validation_failed` if there is no such category. */
  insert(pet: NewPet, origin: Origin): Promise<Created<Pet>>;
  find(id: number): Promise<Pet | undefined>;
  /** Pets with the id ascending, of one status if it is given. */
  list(page: PageQuery & { readonly status?: PetStatus }): Promise<Pet[]>;
  /** The stock of each pet, the id ascending: a page of them. */
  listInventory(page: PageQuery): Promise<InventoryItem[]>;
  /** Sets the stock, and the status with it. Undefined if there is no such pet. */
  setQuantity(petId: number, quantity: number): Promise<InventoryItem | undefined>;
}

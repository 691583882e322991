import type { NewCategory } from '../catalog/category.ts';
import type { PetStatus } from '../catalog/pet.ts';
import type { Storage } from '../catalog/storage.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { utc } from '../stdx/time.ts';

const ORIGIN = { keyId: 'demo' };

interface DemoPet {
  readonly name: string;
  readonly status?: PetStatus;
  /** The stock, if it is not one. */
  readonly stock?: number;
  /** Orders, each with its quantity and the days from now until it ships; with 0 days it is complete. */
  readonly orders?: readonly { readonly quantity: number; readonly shipsInDays?: number }[];
}

const CATALOG: readonly (NewCategory & { readonly pets: readonly DemoPet[] })[] = [
  {
    name: 'Dog',
    description: 'Loyal and social; needs walks in any weather',
    pets: [
      { name: 'Bella, Labrador retriever' },
      { name: 'Rocky, border collie', status: 'pending' },
      { name: 'Luna, dachshund', orders: [{ quantity: 1, shipsInDays: 0 }] },
    ],
  },
  {
    name: 'Cat',
    description: 'Independent; keeps its own hours',
    pets: [
      { name: 'Milo, European shorthair' },
      { name: 'Nala, Maine Coon', orders: [{ quantity: 1, shipsInDays: 2 }] },
    ],
  },
  {
    name: 'Budgerigar',
    description: 'Small parrot; flies best in a pair',
    pets: [{ name: 'Budgerigar, green', stock: 12, orders: [{ quantity: 2, shipsInDays: 1 }, { quantity: 2 }] }],
  },
  {
    name: 'Greek tortoise',
    description: 'Outlives its keeper: plan ahead',
    pets: [{ name: 'Tortoise, born 1988', status: 'sold' }],
  },
];

/** Fills an empty catalog with a small sample of categories, pets, stock and orders; leaves any other unchanged. */
export async function fillWithDemo(storage: Storage, now: number): Promise<void> {
  if ((await storage.categories.list({ after: 0, limit: 1 })).length > 0) return;
  for (const { pets, ...category } of CATALOG) {
    const { resource } = await storage.categories.insert(category, ORIGIN);
    for (const pet of pets) await addPet(storage, { pet, categoryId: resource.id, now });
  }
}

async function addPet(storage: Storage, { pet, categoryId, now }: { pet: DemoPet; categoryId: number; now: number }) {
  const { name, status = 'available', stock, orders = [] } = pet;
  const { resource } = await storage.pets.insert({ name, categoryId, status }, ORIGIN);
  if (stock !== undefined) await storage.pets.setQuantity(resource.id, stock, ORIGIN);
  for (const { quantity, shipsInDays } of orders) {
    const order = { petId: resource.id, quantity };
    const shipDate = shipsInDays === undefined ? {} : { shipDate: utc(now + shipsInDays * DAY_SECONDS) };
    await storage.orders.insert({ ...order, ...shipDate }, ORIGIN);
  }
}

import type { Tables } from '../../../src/storage/sql/tables.ts';
import { promise } from './promise.ts';

type Made = { readonly petId: number; readonly quantity: number };

/** Throws unless stock and orders are what the entries of the changes say: each has one, in its transaction. */
export function checkHistory(
  pets: readonly Tables['pets'][],
  orders: readonly Tables['orders'][],
  changes: readonly Tables['changes'][],
): void {
  const stocks = new Map<number, number>();
  const open = new Set<number>();
  for (const { kind, verb, target, before, after } of changes) {
    const { petId = target, quantity }: Partial<Made> = JSON.parse(after) ?? JSON.parse(before);
    const stock = stocks.get(petId) ?? 0;
    if (kind === 'pet') stocks.set(petId, quantity ?? stock);
    else if (verb === 'place') stocks.set(petId, stock - (quantity ?? 0));
    else stocks.set(petId, stock + (quantity ?? 0));
    if (kind === 'order') open[verb === 'place' ? 'add' : 'delete'](target);
  }
  for (const { id, quantity } of pets)
    promise(
      stocks.get(id) === quantity,
      () => `${quantity} of the pet ${id} are there, ${stocks.get(id)} by its entries`,
    );
  promise(
    `${orders.map(({ id }) => id)}` === `${[...open]}`,
    () => `the orders ${orders.map(({ id }) => id)} are there, ${[...open]} by their entries`,
  );
}

import type { Ban } from '../../src/catalog/ban.ts';
import type { Storage } from '../../src/catalog/storage.ts';

/** Stores a ban of a key that was never lifted, with the moments and the level that a test wants. */
export async function storeBan(
  { keys }: Pick<Storage, 'keys'>,
  { keyId, ...ban }: Ban & { readonly keyId: string },
): Promise<void> {
  await keys.impose(keyId, ban, { banGeneration: 0, isAnswered: true });
}

import type { KeyBan } from '../../src/catalog/ban.ts';
import type { Storage } from '../../src/catalog/storage.ts';

/** Stores a ban of a key that was never lifted, with the moments and the level that a test wants. */
export async function storeBan(
  { keys }: Pick<Storage, 'keys'>,
  { keyId, startedAt, endsAt, level, reason }: KeyBan,
): Promise<void> {
  await keys.ban(keyId, 0, { startedAt, reason, answered: { endsAt, level } });
}

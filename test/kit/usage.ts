import type { Storage } from '../../src/catalog/storage.ts';
import { NO_USAGE, type UsageRecord } from '../../src/catalog/usage.ts';

export const LIST = 'GET /v1/categories';

/** The usage of a key at one moment. */
export function usageAt(keyId: string, at: number, counts: Partial<UsageRecord> = { served: 1 }): UsageRecord {
  return { keyId, ...NO_USAGE, first: at, last: at, ...counts };
}

/** Adds usage in the minute of a moment, and in its hour on one route. */
export async function addUsage(
  { usage }: Pick<Storage, 'usage'>,
  at: number,
  records: readonly UsageRecord[],
  route: string = LIST,
): Promise<void> {
  await usage.add(at - (at % 60), records);
  await usage.addHours(
    at - (at % 3_600),
    records.map((record) => ({ ...record, route })),
  );
}

import type { Storage } from '../../src/catalog/storage.ts';
import type { UsageRecord } from '../../src/catalog/usage.ts';

export const LIST = 'GET /v1/categories';

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

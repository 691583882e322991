import type { Storage } from '../catalog/storage.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Time } from '../stdx/time.ts';
import type { Events } from './events.ts';

const MEASURE_INTERVAL_MS = 10_000;

interface CapacityOptions {
  readonly storage: Pick<Storage, 'capacity'> & { readonly limits: Pick<Storage['limits'], 'news'> };
  readonly time: Time;
  readonly events: Pick<Events, 'capacityMeasured' | 'keyNearLimit'>;
  readonly bounds: { readonly categoriesMax: number; readonly categoriesBytesMax: number };
}

/** Measures how full catalog, database, disk and the days of keys are, now and every ten seconds. Disposing ends it. */
export async function measureCapacity({ storage, time, events, bounds }: CapacityOptions): Promise<Disposable> {
  const measure = oneAtATime(async () => {
    // Storage reports its own failures.
    const capacity = await storage.capacity().catch(() => undefined);
    if (!capacity) return;
    events.capacityMeasured({ ...capacity, ...bounds });
    for (const each of await storage.limits.news(capacity.keysNearDayLimit).catch(() => [])) events.keyNearLimit(each);
  });
  await measure();
  return time.setInterval(measure, MEASURE_INTERVAL_MS).unref();
}

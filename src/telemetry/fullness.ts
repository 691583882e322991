import type { Storage } from '../catalog/storage.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Time } from '../stdx/time.ts';
import type { Events } from './events.ts';

const MEASURE_INTERVAL_MS = 10_000;

interface FullnessOptions {
  readonly storage: Pick<Storage, 'fullness'>;
  readonly time: Time;
  readonly events: Pick<Events, 'fullnessMeasured'>;
  readonly bounds: { readonly categoriesMax: number; readonly categoriesBytesMax: number };
}

/** Measures how full catalog, database, disk and the days of keys are, now and every ten seconds. Disposing ends it. */
export async function measureFullness({ storage, time, events, bounds }: FullnessOptions): Promise<Disposable> {
  const measure = oneAtATime(async () => {
    // Storage reports its own failures.
    const fullness = await storage.fullness().catch(() => undefined);
    if (fullness) events.fullnessMeasured({ ...fullness, ...bounds });
  });
  await measure();
  return time.setInterval(measure, MEASURE_INTERVAL_MS).unref();
}

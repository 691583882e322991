import type { Change, Storage } from '../catalog/storage.ts';
import type { Events } from '../telemetry/events.ts';
import { type Channel, toFailure } from './channel.ts';
import type { MainPromises, StorageNoun } from './promises.ts';
import type { Desk } from './shared-limiter.ts';

type Main = Channel<MainPromises>;

/** The storage of the main thread. `onWatch` is given what is to be called on changes. */
export function distantStorage(main: Main, onWatch: (onChange: (change: Change) => Promise<void>) => void): Storage {
  const noun = <Name extends StorageNoun>(name: Name) =>
    new Proxy({} as Storage[Name], {
      get:
        (_target, method: string) =>
        (...args: readonly unknown[]) =>
          main.call('storage', name, method, args),
    });
  const storage: Pick<Storage, StorageNoun | 'watch' | 'check'> = {
    categories: noun('categories'),
    pets: noun('pets'),
    orders: noun('orders'),
    keys: noun('keys'),
    usage: noun('usage'),
    async watch(onChange) {
      onWatch(onChange);
    },
    check: () => main.call('check'),
  };
  // The rest is the main thread's: limits behind its desk, and what operators do.
  return storage as Storage;
}

/** The desk of the main thread. */
export function distantDesk(main: Main): Desk {
  return {
    handOut: (keyId) => main.call('handOut', keyId),
    keepBan: (key, ban) => main.call('keepBan', key, ban),
    refreshBans: () => main.call('refreshBans'),
    async [Symbol.asyncDispose]() {},
  };
}

/** The events of the main thread, by their names. */
export function distantEvents(main: Main, names: readonly string[]): Events {
  const events = names.map((name) => [
    name,
    (...args: readonly unknown[]) =>
      main.tell(
        'event',
        name as keyof Events,
        args.map((argument) => (argument instanceof Error ? { failure: toFailure(argument) } : argument)),
      ),
  ]);
  return Object.fromEntries(events) as Events;
}

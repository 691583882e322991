import type { CategoryList } from './catalog/category-list.ts';
import type { Change, Storage } from './catalog/storage.ts';
import type { Authenticator } from './http/authenticate.ts';
import { oneAtATime } from './stdx/one-at-a-time.ts';
import type { Events } from './telemetry/events.ts';

/** Page size for reading categories: at most a few megabytes, so that no page blocks the event loop. */
const CATEGORIES_PAGE = 250;

interface Followers {
  readonly storage: Storage;
  readonly authenticator: Authenticator;
  readonly categories: CategoryList;
  readonly events: Events;
}

/**
 * Loads the in-memory state from storage and keeps it up to date with changes made here or by other processes. Returns
 * a function that adds categories of other instances at once, for requests that cannot wait for the change feed.
 */
export async function follow(followers: Followers): Promise<() => Promise<void>> {
  const { storage, authenticator, categories, events } = followers;
  const page = (after: number) => storage.categories.list({ after, limit: CATEGORIES_PAGE });
  /** The version of the renames and deletions that the list contains. */
  let version: number | undefined;
  /** The part of the list that must be reloaded. */
  let stale: 'all' | 'some' | undefined = 'all';
  const readChanges = async (what: 'all' | 'some') => {
    // Read the version first: changes made during the reload are then read by the next run.
    const { changed, version: now } = await storage.categories.changesSince(what === 'all' ? undefined : version);
    await (changed ? categories.change(changed) : categories.reload(page));
    version = now;
  };
  // Without overlap, so that a page read before a change is not added after it.
  const catchUp = oneAtATime(async () => {
    const what = stale;
    stale = undefined;
    if (what) {
      await readChanges(what).catch((error) => {
        stale = stale === 'all' ? 'all' : what;
        throw error;
      });
    }
    await categories.catchUp(page);
  });
  const readChange = async (change: Change, keyIds?: readonly string[]) => {
    try {
      if (change === 'keys') return authenticator.forget(keyIds);
      if (change === 'restored') {
        authenticator.forget();
        stale = 'all';
      }
      if (change === 'categories') stale ??= 'some';
      await catchUp();
    } catch (error) {
      events.changeNotRead(error);
      throw error;
    }
  };
  // Watch before the first load, so that no change falls in between.
  await storage.watch(readChange);
  await readChange('categories');
  return catchUp;
}

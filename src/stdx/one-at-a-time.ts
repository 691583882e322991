/**
 * Makes a function that runs `work` without overlap and coalesces calls: calls during a run share one further run,
 * which starts after all of them. Rejects as the shared run does.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    if (next) return next;
    next = last
      .catch(() => {})
      .then(() => {
        next = undefined;
        return work();
      });
    last = next;
    return next;
  };
}

/** Makes a value once. A failure is not kept: the next call tries again. */
export function memoizeAsync<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

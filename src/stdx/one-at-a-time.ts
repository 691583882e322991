/** Keeps runs of `work` from overlapping: calls during a run share one further run, which starts after them. */
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

/**
 * Makes a function that runs `work` without overlap. A call during a run waits for one further run, which all such
 * calls share: it sees whatever was true when they called. Fails as the shared run does.
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

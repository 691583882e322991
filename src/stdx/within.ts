/** Settles as `work` does, unless that takes longer than `ms`: then rejects with what `lateness` makes. */
export async function within<T>(ms: number, work: Promise<T>, lateness: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(lateness()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

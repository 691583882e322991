/** Sets an entry of a map that holds so many at most: a new one beyond pushes out the oldest. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, sizeMax: number): void {
  map.set(key, value);
  if (map.size <= sizeMax) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

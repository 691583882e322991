/** Median, minimum and maximum of some numbers. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The spread of at least one number. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** Formats a number with three significant digits and thousands separators. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en');
  return `${Number(value.toPrecision(3))}`;
}

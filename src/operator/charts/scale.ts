/** The horizontal lines of a chart above its zero line. */
export const LINES = 4;
const MANTISSAS = [1, 2, 2.5, 5, 10] as const;

/** The upper end of an axis from zero whose quarters are round numbers, whole ones for counts. */
export function scaleEnd(max: number, { isWhole }: { isWhole: boolean }): number {
  if (max <= 0) return isWhole ? LINES : LINES / 4;
  const least = max / LINES;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (MANTISSAS.find((mantissa) => mantissa * power >= least) ?? 10) * power;
  return LINES * (isWhole ? Math.max(1, Math.ceil(step)) : step);
}

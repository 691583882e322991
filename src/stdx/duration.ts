export const MINUTE_SECONDS = 60;
export const HOUR_SECONDS = 3_600;
export const DAY_SECONDS = 86_400;

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: MINUTE_SECONDS,
  h: HOUR_SECONDS,
  d: DAY_SECONDS,
  w: 7 * DAY_SECONDS,
  y: 365 * DAY_SECONDS,
};

/** Parses a duration (`90s`, `10m`, `24h`, `30d`, `1w`, `1y` or `0`) into seconds; undefined if it is malformed. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const [, count, unit = ''] = /^(\d{1,9})([smhdwy])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  return count === undefined || seconds === undefined ? undefined : Number(count) * seconds;
}

import { DAY_SECONDS } from '../../src/stdx/duration.ts';

/** The value of a key in Redis: `minuteEnds minuteUsed day dayUsed banStarts banEnds ban`. */
const VALUE = /^(\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (.*)$/s;

type Value = [
  minuteEnds: number,
  minuteUsed: number,
  day: number,
  dayUsed: number,
  banStarts: number,
  banEnds: number,
  ban: string,
];

/** What `REPLACE_BAN` leaves, and what it returns. `value` is undefined if nothing was set. */
export interface Ran {
  readonly value: string | undefined;
  readonly reply: string | number | null;
}

function parse(text: string | undefined): Value | undefined {
  const [, ...parts] = VALUE.exec(text ?? '') ?? [];
  if (parts.length === 0) return undefined;
  const [minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds] = parts.map(Number) as number[] as Value;
  return [minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, parts[6] ?? ''];
}

function format(value: Value): string {
  return value.join(' ');
}

/** The arguments of `COUNT` for each of its keys, after the two of its time. */
const ARGUMENTS = 5;

interface Moment {
  readonly unix: number;
  readonly steady: number;
}

/**
 * The script `COUNT`, as Redis runs it on its values at a moment of its own clock; sets what the script sets. `counted`
 * has the values after each single request, of which the script sets the last.
 */
export function count(
  values: Map<string, string>,
  { keys, argv, serverMs }: { keys: readonly string[]; argv: readonly string[]; serverMs: number },
): { readonly reply: (string | null)[]; readonly counted: readonly { key: string; value: string }[] } {
  const unix = argv[0] ? Number(argv[0]) : Math.floor(serverMs / 1_000);
  const steady = argv[1] ? Number(argv[1]) : unix;
  const reply: (string | null)[] = [`${unix} ${Math.floor((serverMs % 1_000) * 1_000)} ${steady}`];
  const counted: { key: string; value: string }[] = [];
  for (const [index, key] of keys.entries()) {
    const from = 2 + index * ARGUMENTS;
    const { before, afters } = countOne(values.get(key), argv.slice(from, from + ARGUMENTS), { unix, steady });
    reply.push(before);
    counted.push(...afters.map((value) => ({ key, value })));
    // A merge alone sets a value too.
    const value = afters.at(-1) ?? before;
    if (value !== null) values.set(key, value);
  }
  return { reply, counted };
}

/** The value of a key before its requests, and after each one that was counted. */
function countOne(
  kept: string | undefined,
  argv: readonly string[],
  { unix, steady }: Moment,
): { before: string | null; afters: readonly string[] } {
  const [minuteLimit, dayLimit, requests] = argv.slice(0, 3).map(Number) as [number, number, number];
  let before = kept;
  const found = parse(kept);
  if (!found && argv[4] !== '1') return { before: null, afters: [] };
  let [minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban] = found ?? [0, 0, 0, 0, 0, 0, ''];
  const remembered = parse(argv[3]);
  if (remembered) {
    const [ends, used, lastDay, usedInDay, starts, over, record] = remembered;
    if (ends > minuteEnds || (ends === minuteEnds && used > minuteUsed)) [minuteEnds, minuteUsed] = [ends, used];
    if (lastDay > day || (lastDay === day && usedInDay > dayUsed)) [day, dayUsed] = [lastDay, usedInDay];
    if (starts > banStarts) [banStarts, banEnds, ban] = [starts, over, record];
    before = format([minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban]);
  }
  if (minuteEnds > steady + 60 || banStarts > steady) {
    minuteEnds = Math.min(minuteEnds, steady + 60);
    if (banStarts > steady) [banStarts, banEnds] = [steady, steady + banEnds - banStarts];
    before = format([minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban]);
  }

  const today = Math.floor(unix / DAY_SECONDS);
  if (today > day) [day, dayUsed] = [today, 0];
  if (steady >= minuteEnds) [minuteEnds, minuteUsed] = [steady + 60, 0];
  const afters: string[] = [];
  while (afters.length < requests && steady >= banEnds && minuteUsed < minuteLimit && dayUsed < dayLimit) {
    minuteUsed += 1;
    dayUsed += 1;
    afters.push(format([minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban]));
  }
  return { before: before ?? null, afters };
}

/** The script `REPLACE_BAN`, likewise, on the value of its key. */
export function replaceBan(kept: string | undefined, argv: readonly string[]): Ran {
  const found = parse(kept);
  if (kept === undefined || !found) return { value: undefined, reply: null };
  const [minuteEnds, minuteUsed, day, dayUsed, , , ban] = found;
  const [expected, starts, ends, record] = argv as [string, string, string, string];
  if (ban !== expected) return { value: undefined, reply: kept };
  return { value: format([minuteEnds, minuteUsed, day, dayUsed, Number(starts), Number(ends), record]), reply: 1 };
}

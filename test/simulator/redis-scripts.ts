import { type Counts, merged, NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { withResets } from '../../src/limits/window.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../../src/stdx/duration.ts';

/**
 * The value of a key in Redis: `minuteEnds minuteUsed day dayUsed`, and the last resets, which 0.3.0 does not write.
 */
const VALUE = /^(\d+) (\d+) (\d+) (\d+) ?(\d*) ?(\d*)/;

interface Moment {
  readonly unix: number;
  readonly steady: number;
}

/** The counts in a value, with a minute that ends in time. */
function parse(text: string | undefined, { steady }: Moment): Counts | undefined {
  const [, ...parts] = VALUE.exec(text ?? '') ?? [];
  if (parts.length === 0) return undefined;
  const [ends = 0, minuteUsed = 0, day = 0, dayUsed = 0, minuteReset = 0, dayReset = 0] = parts.map(Number);
  return { minuteEnds: Math.min(ends, steady + MINUTE_SECONDS), minuteUsed, day, dayUsed, minuteReset, dayReset };
}

function format({ minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset }: Counts): string {
  return `${minuteEnds} ${minuteUsed} ${day} ${dayUsed} ${minuteReset} ${dayReset}`;
}

/** The arguments of the script for each of its keys, after the two of its time. */
const ARGUMENTS = 7;

/**
 * The script of `RedisCounts`, as Redis runs it on its values at a moment of its own clock; sets what the script sets.
 * `counted` has the values after each single request, of which the script sets the last.
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
  now: Moment,
): { before: string | null; afters: readonly string[] } {
  const [minuteLimit = 0, dayLimit = 0, minute = 0, day = 0, requests = 0] = argv.slice(0, 5).map(Number);
  const found = parse(kept, now);
  if (!found && argv[6] !== '1') return { before: null, afters: [] };
  const today = Math.floor(now.unix / DAY_SECONDS);
  const remembered = parse(argv[5], now);
  const own = withResets(found ?? NO_COUNTS, { minute, day });
  const before = remembered ? merged(own, { ...remembered, day: Math.min(remembered.day, today) }) : own;
  // What nothing changed stays as it was written.
  const isChanged = remembered || (found && own !== found) || before.minuteEnds === now.steady + MINUTE_SECONDS;
  const value = isChanged || !kept || !found ? format(before) : kept;

  let counted = before;
  if (today > counted.day) counted = { ...counted, day: today, dayUsed: 0 };
  if (now.steady >= counted.minuteEnds)
    counted = { ...counted, minuteEnds: now.steady + MINUTE_SECONDS, minuteUsed: 0 };
  const afters: string[] = [];
  while (afters.length < requests && counted.minuteUsed < minuteLimit && counted.dayUsed < dayLimit) {
    counted = { ...counted, minuteUsed: counted.minuteUsed + 1, dayUsed: counted.dayUsed + 1 };
    afters.push(format(counted));
  }
  return { before: value, afters };
}

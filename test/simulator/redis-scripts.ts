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

/** What a script leaves, and what it returns. `value` is undefined if nothing was set. */
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

/** The script `COUNT`, as Redis runs it on the value of a key at a moment of its own clock. */
export function count(kept: string | undefined, argv: readonly string[], serverMs: number): Ran {
  const [minuteLimit, dayLimit, cost] = argv.slice(0, 3).map(Number) as [number, number, number];
  const unix = argv[3] ? Number(argv[3]) : Math.floor(serverMs / 1_000);
  const steady = argv[4] ? Number(argv[4]) : unix;
  const micros = Math.floor((serverMs % 1_000) * 1_000);

  let before = kept;
  const found = parse(kept);
  if (!found && argv[6] !== '1') return { value: undefined, reply: null };
  let [minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban] = found ?? [0, 0, 0, 0, 0, 0, ''];
  const remembered = argv[5] === undefined ? undefined : parse(argv[5]);
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

  let after = before;
  const today = Math.floor(unix / DAY_SECONDS);
  if (today > day) [day, dayUsed] = [today, 0];
  if (steady >= minuteEnds) [minuteEnds, minuteUsed] = [steady + 60, 0];
  if (cost > 0 && steady >= banEnds && minuteUsed < minuteLimit && dayUsed < dayLimit) {
    after = format([minuteEnds, minuteUsed + 1, day, dayUsed + 1, banStarts, banEnds, ban]);
  }
  return { value: after === kept ? undefined : after, reply: `${unix} ${micros} ${steady} ${before}` };
}

/** The script `REPLACE_BAN`, likewise. */
export function replaceBan(kept: string | undefined, argv: readonly string[]): Ran {
  const found = parse(kept);
  if (kept === undefined || !found) return { value: undefined, reply: null };
  const [minuteEnds, minuteUsed, day, dayUsed, , , ban] = found;
  const [expected, starts, ends, record] = argv as [string, string, string, string];
  if (ban !== expected) return { value: undefined, reply: kept };
  return { value: format([minuteEnds, minuteUsed, day, dayUsed, Number(starts), Number(ends), record]), reply: 1 };
}

import { hash } from 'node:crypto';
import type { Counts } from '../../catalog/window-counts.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Moment } from '../../stdx/time.ts';
import { UNUSED, type WindowState } from '../window.ts';

/** The value of a key: `minuteEnds minuteUsed day dayUsed minuteReset dayReset`. Release 0.3.0 writes no resets. */
const VALUE = "'^(%d+) (%d+) (%d+) (%d+) ?(%d*) ?(%d*)'";
const FORMAT = "'%d %d %d %d %d %d'";
/** Expiry of a value: longer than the UTC day. Storage keeps it longer. */
const EXPIRY_SECONDS = 2 * DAY_SECONDS;

/**
 * Counts requests, some for each key, in their order; a key may come several times. Returns the server's time as `unix
 * micros steady`, and for each key the value from before, from which `window.ts` makes the decisions. Decides by the
 * rule of `window.ts` how many to count.
 *
 * The first two arguments replace the server's time by `unix` and `steady` seconds, for tests. Each key has seven more:
 * its limits for a minute and a day, and its last resets of both, by the rule of `withResets`; how many requests to
 * count, `0` to read; and what is remembered elsewhere, or an empty string, to be merged into the value first, by the
 * rule of `merged`. The last, `1`, says that this is complete and may begin a value; otherwise nil is returned for a
 * key that has none. An unreadable value counts as missing: an error would look like an outage to other keys.
 *
 * If the server's clock was set back, a minute too far in the future is capped before it is merged, so that no client
 * is locked out for longer than a window lasts; so is a remembered day.
 */
const SOURCE = `
local server = redis.call('TIME')
local unix = tonumber(ARGV[1]) or tonumber(server[1])
local steady = tonumber(ARGV[2]) or unix
local today = math.floor(unix / 86400)

local function read(value)
  local minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset = string.match(value or '', ${VALUE})
  if not minuteEnds then return end
  return math.min(tonumber(minuteEnds), steady + 60), tonumber(minuteUsed), tonumber(day), tonumber(dayUsed),
    tonumber(minuteReset) or 0, tonumber(dayReset) or 0
end

local function isLater(reset, window, used, otherReset, otherWindow, otherUsed)
  if reset ~= otherReset then return reset > otherReset end
  if window ~= otherWindow then return window > otherWindow end
  return used > otherUsed
end

local function count(key, minuteLimit, dayLimit, resets, requests, remembered, isComplete)
  local kept = redis.call('GET', key)
  local minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset = read(kept)
  if not minuteEnds then
    if isComplete ~= '1' then return false end
    minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset = 0, 0, 0, 0, 0, 0
  end
  local isReset = resets[1] > minuteReset or resets[2] > dayReset
  if resets[1] > minuteReset then minuteReset, minuteUsed = resets[1], 0 end
  if resets[2] > dayReset then dayReset, dayUsed = resets[2], 0 end
  local ends, used, lastDay, usedInDay, reset, resetOfDay = read(remembered)
  if ends then
    lastDay = math.min(lastDay, today)
    if isLater(reset, ends, used, minuteReset, minuteEnds, minuteUsed) then
      minuteReset, minuteEnds, minuteUsed = reset, ends, used
    end
    if isLater(resetOfDay, lastDay, usedInDay, dayReset, day, dayUsed) then
      dayReset, day, dayUsed = resetOfDay, lastDay, usedInDay
    end
  end
  local before = kept
  -- Nothing else changes what was kept: a reset, a merge, or a cap.
  if isReset or ends or minuteEnds == steady + 60 then
    before = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset)
  end

  local after = before
  if today > day then day, dayUsed = today, 0 end
  if steady >= minuteEnds then minuteEnds, minuteUsed = steady + 60, 0 end
  local admitted = math.min(requests, minuteLimit - minuteUsed, dayLimit - dayUsed)
  if admitted > 0 then
    minuteUsed, dayUsed = minuteUsed + admitted, dayUsed + admitted
    after = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset)
  end
  if after ~= kept then redis.call('SET', key, after, 'EX', '${EXPIRY_SECONDS}') end
  return before
end

local replies = { unix .. ' ' .. server[2] .. ' ' .. steady }
for i = 1, #KEYS do
  local at = i * 7 - 4
  local minute, day, requests = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 4])
  local resets = { tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]) }
  replies[i + 1] = count(KEYS[i], minute, day, resets, requests, ARGV[at + 5], ARGV[at + 6])
end
return replies
`;

/**
 * Keys of no client. Every heartbeat counts on them, so that a Redis is noticed that cannot write, or that keeps keys
 * in several places, where no script runs on two of them. On a node of a cluster it counts on a key that the node has.
 */
export const BEAT_KEYS: readonly string[] = ['beat', 'beat-2'];

/** The script that counts, and the arguments of a call of it that writes, for the heartbeat. */
export const SCRIPT = {
  source: SOURCE,
  sha: hash('sha1', SOURCE),
  beatArgs: (keys: readonly string[]) => [
    '',
    '',
    ...keys.flatMap(() => ['1000000000', '1000000000', '0', '0', '1', '', '1']),
  ],
};

/** The value of counts, as the script reads it. */
export function toValue({ minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset }: Counts): string {
  return `${minuteEnds} ${minuteUsed} ${day} ${dayUsed} ${minuteReset} ${dayReset}`;
}

/** The state in a value that the script returned. */
export function fromValue(value: string): WindowState {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0, minuteReset = 0, dayReset = 0] = value
    .split(' ', 6)
    .map(Number);
  return { ...UNUSED, minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset };
}

/** The server's time in a reply, in milliseconds of its clock and as a moment by which it counted. */
export function timeOf(reply: unknown): { readonly ms: number; readonly now: Moment } {
  const [unix = 0, micros = 0, steady = 0] = String((reply as unknown[])[0])
    .split(' ')
    .map(Number);
  return { ms: unix * 1000 + micros / 1000, now: { unix, steady } };
}

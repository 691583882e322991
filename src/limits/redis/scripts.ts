import { createHash } from 'node:crypto';
import { DAY_SECONDS } from '../../stdx/duration.ts';

/** A Lua script that Redis runs atomically. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** The value of a key in one string: `minuteEnds minuteUsed day dayUsed`. Release 0.1.0 wrote more behind them. */
const VALUE = "'^(%d+) (%d+) (%d+) (%d+)'";
const FORMAT = "'%d %d %d %d'";
/** Expiry of a value: longer than the UTC day. Storage keeps it longer. */
const EXPIRY_SECONDS = 2 * DAY_SECONDS;

/**
 * Counts requests, some for each key, in their order; a key may come several times. Returns the server's time as
 * `unix micros steady`, and for each key the value from before, from which `window.ts` makes the decisions. Decides
 * by the rule of `window.ts` how many to count.
 *
 * The first two arguments replace the server's time by `unix` and `steady` seconds, for tests. Each key has five more:
 * its limits for a minute and a day; how many requests to count, `0` to read; and what is remembered elsewhere, or an
 * empty string, to be merged into the value first, by the rule of `merged`. The last, `1`, says that this is complete
 * and may begin a value; otherwise nil is returned for a key that has none. An unreadable value counts as missing: an
 * error would look like an outage to other keys.
 *
 * If the server's clock was set back, a minute too far in the future is capped before it is merged, so that no client
 * is locked out for longer than a window lasts; so is a remembered day.
 */
export const COUNT = script(`
local server = redis.call('TIME')
local unix = tonumber(ARGV[1]) or tonumber(server[1])
local steady = tonumber(ARGV[2]) or unix
local today = math.floor(unix / 86400)

local function read(value)
  local minuteEnds, minuteUsed, day, dayUsed = string.match(value or '', ${VALUE})
  if not minuteEnds then return end
  return math.min(tonumber(minuteEnds), steady + 60), tonumber(minuteUsed), tonumber(day), tonumber(dayUsed)
end

local function count(key, minuteLimit, dayLimit, requests, remembered, isComplete)
  local kept = redis.call('GET', key)
  local minuteEnds, minuteUsed, day, dayUsed = read(kept)
  if not minuteEnds then
    if isComplete ~= '1' then return false end
    minuteEnds, minuteUsed, day, dayUsed = 0, 0, 0, 0
  end
  local ends, used, lastDay, usedInDay = read(remembered)
  if ends then
    lastDay = math.min(lastDay, today)
    if ends > minuteEnds or ends == minuteEnds and used > minuteUsed then minuteEnds, minuteUsed = ends, used end
    if lastDay > day or lastDay == day and usedInDay > dayUsed then day, dayUsed = lastDay, usedInDay end
  end
  local before = kept
  -- Nothing else changes what was kept: a merge, or a cap.
  if ends or minuteEnds == steady + 60 then
    before = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed)
  end

  local after = before
  if today > day then day, dayUsed = today, 0 end
  if steady >= minuteEnds then minuteEnds, minuteUsed = steady + 60, 0 end
  local admitted = math.min(tonumber(requests), tonumber(minuteLimit) - minuteUsed, tonumber(dayLimit) - dayUsed)
  if admitted > 0 then
    after = string.format(${FORMAT}, minuteEnds, minuteUsed + admitted, day, dayUsed + admitted)
  end
  if after ~= kept then redis.call('SET', key, after, 'EX', '${EXPIRY_SECONDS}') end
  return before
end

local replies = { unix .. ' ' .. server[2] .. ' ' .. steady }
for i = 1, #KEYS do
  local at = i * 5 - 2
  replies[i + 1] = count(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return replies
`);

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

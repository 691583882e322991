import { createHash } from 'node:crypto';
import { DAY_SECONDS } from '../../stdx/duration.ts';

/** A Lua script that Redis runs atomically. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/**
 * The value of a key in one string: `minuteEnds minuteUsed day dayUsed banStarts banEnds ban`, as in `WindowState`.
 * `ban` is the rest of the last ban in JSON, which the scripts only compare. Without a ban: 0, 0 and an empty string.
 */
const VALUE = "'^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$'";
const FORMAT = "'%d %d %d %d %d %d %s'";
/** Expiry of a value: longer than the UTC day, and than the day for which a ban counts. Storage keeps it longer. */
const EXPIRY_SECONDS = 2 * DAY_SECONDS;

/**
 * Counts requests, some for each key, in their order; a key may come several times. Returns the server's time as
 * `unix micros steady`, and for each key the value from before, from which `window.ts` makes the decisions. Decides
 * by the rule of `window.ts` how many to count.
 *
 * The first two arguments replace the server's time by `unix` and `steady` seconds, for tests. Each key has five more:
 * its limits for a minute and a day; how many requests to count, `0` to read; and what is remembered elsewhere, or an
 * empty string, to be merged into the value first: of each window the later one and the greater count, and the later
 * ban. The last, `1`, says that this is complete and may begin a value; otherwise nil is returned for a key that has
 * none. An unreadable value counts as missing: an error would look like an outage to other keys.
 *
 * If the server's clock was set back, moments too far in the future are capped, so that no client is locked out for
 * longer than a window or a ban lasts.
 */
export const COUNT = script(`
local server = redis.call('TIME')
local unix = tonumber(ARGV[1]) or tonumber(server[1])
local steady = tonumber(ARGV[2]) or unix
local today = math.floor(unix / 86400)

local function count(key, minuteLimit, dayLimit, requests, remembered, isComplete)
  local kept = redis.call('GET', key)
  local before = kept
  local minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban = string.match(kept or '', ${VALUE})
  if not minuteEnds then
    if isComplete ~= '1' then return false end
    minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban = 0, 0, 0, 0, 0, 0, ''
  end
  minuteEnds, minuteUsed, day, dayUsed = tonumber(minuteEnds), tonumber(minuteUsed), tonumber(day), tonumber(dayUsed)
  banStarts, banEnds = tonumber(banStarts), tonumber(banEnds)
  if remembered ~= '' then
    local ends, used, lastDay, usedInDay, starts, over, record = string.match(remembered, ${VALUE})
    ends, used, lastDay, usedInDay = tonumber(ends), tonumber(used), tonumber(lastDay), tonumber(usedInDay)
    if ends > minuteEnds or ends == minuteEnds and used > minuteUsed then minuteEnds, minuteUsed = ends, used end
    if lastDay > day or lastDay == day and usedInDay > dayUsed then day, dayUsed = lastDay, usedInDay end
    if tonumber(starts) > banStarts then banStarts, banEnds, ban = tonumber(starts), tonumber(over), record end
    before = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban)
  end
  if minuteEnds > steady + 60 or banStarts > steady then
    minuteEnds = math.min(minuteEnds, steady + 60)
    if banStarts > steady then banStarts, banEnds = steady, steady + banEnds - banStarts end
    before = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban)
  end

  local after = before
  if today > day then day, dayUsed = today, 0 end
  if steady >= minuteEnds then minuteEnds, minuteUsed = steady + 60, 0 end
  local admitted = math.min(tonumber(requests), tonumber(minuteLimit) - minuteUsed, tonumber(dayLimit) - dayUsed)
  if admitted > 0 and steady >= banEnds then
    after = string.format(${FORMAT}, minuteEnds, minuteUsed + admitted, day, dayUsed + admitted, banStarts, banEnds, ban)
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

/**
 * Compare-and-set of a ban. Returns 1 if the expected ban was there and was replaced, else the current value. Nil if
 * there is no value; the next count seeds one from storage.
 */
export const REPLACE_BAN = script(`
local kept = redis.call('GET', KEYS[1])
if not kept then return false end
local minuteEnds, minuteUsed, day, dayUsed, _, _, ban = string.match(kept, ${VALUE})
if not minuteEnds then return false end
if ban ~= ARGV[1] then return kept end
local after = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed, ARGV[2], ARGV[3], ARGV[4])
redis.call('SET', KEYS[1], after, 'EX', ${EXPIRY_SECONDS})
return 1
`);

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

import { createHash } from 'node:crypto';
import { DAY_SECONDS } from '../../stdx/duration.ts';

/** A Lua script that Redis runs atomically on the value of one key. */
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
 * Counts a request (`cost` 1) or reads (0). Decides by the rule of `window.ts` whether to count, and returns the
 * server's time and the value from before, from which `window.ts` makes the decision.
 *
 * The sixth argument is remembered elsewhere, to be merged into the value first: of each window the later one and the
 * greater count, and the later ban. The seventh, `1`, says that it is complete and may begin a value; otherwise nil is
 * returned where there is none. An unreadable value counts as missing: an error would look like an outage to other
 * keys.
 *
 * If the server's clock was set back, moments too far in the future are capped, so that no client is locked out for
 * longer than a window or a ban lasts.
 */
export const COUNT = script(`
local minuteLimit, dayLimit, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local server = redis.call('TIME')
local unix = tonumber(ARGV[4]) or tonumber(server[1])
local steady = tonumber(ARGV[5]) or unix

local kept = redis.call('GET', KEYS[1])
local before = kept
local minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban = string.match(kept or '', ${VALUE})
if not minuteEnds then
  if ARGV[7] ~= '1' then return false end
  minuteEnds, minuteUsed, day, dayUsed, banStarts, banEnds, ban = 0, 0, 0, 0, 0, 0, ''
end
minuteEnds, minuteUsed, day, dayUsed = tonumber(minuteEnds), tonumber(minuteUsed), tonumber(day), tonumber(dayUsed)
banStarts, banEnds = tonumber(banStarts), tonumber(banEnds)
if ARGV[6] then
  local ends, used, lastDay, usedInDay, starts, over, record = string.match(ARGV[6], ${VALUE})
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
local today = math.floor(unix / 86400)
if today > day then day, dayUsed = today, 0 end
if steady >= minuteEnds then minuteEnds, minuteUsed = steady + 60, 0 end
if cost > 0 and steady >= banEnds and minuteUsed < minuteLimit and dayUsed < dayLimit then
  after = string.format(${FORMAT}, minuteEnds, minuteUsed + 1, day, dayUsed + 1, banStarts, banEnds, ban)
end
if after ~= kept then redis.call('SET', KEYS[1], after, 'EX', ${EXPIRY_SECONDS}) end
return unix .. ' ' .. server[2] .. ' ' .. steady .. ' ' .. before
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

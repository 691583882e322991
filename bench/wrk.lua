-- Sends the calls of a file in turn, over and over, and tells what came of it as a line of JSON.
-- A line of the file holds method, path, key, If-None-Match and body, separated by tabs.
local calls = {}
local at = 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, key, validator, body = line:match('^(.-)\t(.-)\t(.-)\t(.-)\t(.*)$')
    local lines = { method .. ' ' .. path .. ' HTTP/1.1', 'Host: ' .. wrk.headers['Host'] }
    if key ~= '' then lines[#lines + 1] = 'Authorization: Bearer ' .. key end
    if validator ~= '' then lines[#lines + 1] = 'If-None-Match: ' .. validator end
    if body ~= '' then
      lines[#lines + 1] = 'Content-Type: application/json'
      lines[#lines + 1] = 'Content-Length: ' .. #body
    end
    -- Not by wrk.format: it orders headers anew in each process, and V8 compiles anew for each order.
    calls[#calls + 1] = table.concat(lines, '\r\n') .. '\r\n\r\n' .. body
  end
  -- Short loads of many calls would otherwise send the first of them alone.
  math.randomseed(os.time())
  at = math.random(#calls)
end

function request()
  at = at + 1
  if at > #calls then
    at = 1
  end
  return calls[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'BENCH {"requests":%d,"seconds":%f,"bytes":%d,"refused":%d,"broken":%d,"p50Ms":%f,"p99Ms":%f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end

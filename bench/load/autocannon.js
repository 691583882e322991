// Stands in for wrk where that is not installed: the same file of calls, the same line of JSON.
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const [url, file, connections, seconds] = process.argv.slice(2);
const requests = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [method, path, key, validator, ...body] = line.split('\t');
    const headers = {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(validator && { 'if-none-match': validator }),
      ...(body[0] && { 'content-type': 'application/json' }),
    };
    return { method, path, headers, ...(body[0] && { body: body.join('\t') }) };
  });

// Every connection goes through the whole list by itself, so that each begins elsewhere in it.
let begun = 0;
const result = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  setupClient(client) {
    const start = Math.floor((requests.length * begun) / Number(connections));
    begun += 1;
    client.setRequests([...requests.slice(start), ...requests.slice(0, start)]);
  },
});
const figures = {
  requests: result.requests.total,
  seconds: result.duration,
  bytes: result.throughput.total,
  refused: result['4xx'] + result['5xx'],
  broken: result.errors + result.timeouts,
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
};
console.log(`BENCH ${JSON.stringify(figures)}`);

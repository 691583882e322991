/**
 * A nightly report: yesterday's usage of each key as a CSV file, for billing.
 *
 *   PET_CATALOG_TOKEN=$(pet-catalog operators create --name report --role viewer) \
 *     node examples/nightly-usage.ts http://127.0.0.1:8081 reports
 *
 * Writes `reports/usage-2026-01-01.csv` for the last whole UTC day, or for the day that a third argument names. To run
 * it again replaces the file by the same one.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DAY_MS = 86_400_000;
const [operatorUrl, folder, day = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)] = process.argv.slice(2);
const token = process.env.PET_CATALOG_TOKEN;
const since = new Date(`${day}T00:00:00Z`);
if (!operatorUrl || !folder || !token || Number.isNaN(since.getTime())) {
  console.error('usage: PET_CATALOG_TOKEN=… nightly-usage.ts OPERATOR_URL FOLDER [YYYY-MM-DD]');
  process.exit(2);
}

const query = new URLSearchParams({
  since: since.toISOString(),
  until: new Date(since.getTime() + DAY_MS).toISOString(),
});
const response = await fetch(`${operatorUrl}/api/v1/usage?${query}`, {
  headers: { authorization: `Bearer ${token}`, accept: 'text/csv' },
  signal: AbortSignal.timeout(60_000),
});
const text = await response.text();
if (!response.ok) {
  console.error(`no report: ${text} (request ${response.headers.get('x-request-id')})`);
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
const file = join(folder, `usage-${day}.csv`);
// Renamed when it is complete, so that a program that collects reports never reads half of one.
writeFileSync(`${file}.new`, text);
renameSync(`${file}.new`, file);
console.log(file);

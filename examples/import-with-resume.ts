/**
 * Imports categories from a file with one JSON object a line, and goes on after an interruption where it ended:
 *
 *   PET_CATALOG_KEY=… node examples/import-with-resume.ts http://127.0.0.1:8080/v1 categories.ndjson
 *
 * The number of lines that are done is kept beside the file, in `categories.ndjson.progress`. A line that was sent just
 * before an interruption is sent again with the same Idempotency-Key, so the service makes no second category of it for
 * 24 hours.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
// In a project of your own: import { … } from '@pet-catalog/client'.
import { ApiError, PetCatalog } from '../client/src/pet-catalog.ts';

const [baseUrl, file] = process.argv.slice(2);
if (!baseUrl || !file) {
  console.error('usage: import-with-resume.ts BASE_URL FILE');
  process.exit(2);
}

const text = readFileSync(file, 'utf8');
const lines = text.split('\n').filter((line) => line.trim() !== '');
/** A changed file is another import: its lines must not replay those of the old one. */
const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
const progress = `${file}.progress`;

/** The number of lines that are done; 0 if the file changed since. */
function readDone(): number {
  if (!existsSync(progress)) return 0;
  const [of, done = '0'] = readFileSync(progress, 'utf8').split(' ');
  return of === digest ? Number(done) : 0;
}

/** Written beside it and renamed, so that a kill leaves the old number or the new one. */
function writeDone(done: number): void {
  writeFileSync(`${progress}.new`, `${digest} ${done}`);
  renameSync(`${progress}.new`, progress);
}

// Over its limit the client waits as Retry-After says, and it retries lost answers, for two minutes a call at most.
const catalog = new PetCatalog({ baseUrl });
const first = readDone();
if (first > 0) console.error(`going on after line ${first}`);
for (let index = first; index < lines.length; index += 1) {
  try {
    const category = JSON.parse(lines[index] ?? '');
    await catalog.categories.create(category, { idempotencyKey: `import-${digest}-${index}` });
  } catch (error) {
    const why = error instanceof ApiError ? `${error.message} (request ${error.requestId})` : error;
    console.error(`line ${index + 1}: ${why}; mend it, and start again to go on from here`);
    process.exit(1);
  }
  writeDone(index + 1);
  console.error(`${index + 1} of ${lines.length}`);
}
rmSync(progress, { force: true });
console.log(`imported ${lines.length - first} categories`);

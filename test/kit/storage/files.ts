import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../../../src/storage/engine.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { openToRead } from '../../../src/storage/sqlite/database-file.ts';
import { manualClock } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { insert, issue } from './bench.ts';

const OPTIONS = { time: manualClock(), categoriesMax: 10_000, categoriesBytesMax: 10_000_000 };

/** A folder with the closed database `x.db`, which holds the category Dog and a key. */
export async function databasePlace() {
  const folder = temporaryFolder();
  const file = join(folder.path, 'x.db');
  const { key } = await use(file, async (storage) => {
    await insert(storage, { name: 'Dog' });
    return issue(storage);
  });
  return {
    file,
    key,
    folder: folder.path,
    in: (name: string) => join(folder.path, name),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** Opens the storage of a file, and closes it after the work. */
export async function use<T>(
  file: string,
  work: (storage: Awaited<ReturnType<typeof openStorage>>) => Promise<T>,
): Promise<T> {
  await using storage = await openStorage({ engine: 'sqlite', file }, OPTIONS);
  return await work(storage);
}

export async function add(file: string, ...names: string[]): Promise<void> {
  await use(file, async (storage) => {
    for (const name of names) await insert(storage, { name });
  });
}

/** The names of the categories in a file. */
export function namesIn(file: string): unknown[] {
  using database = openToRead(file);
  return database
    .prepare('SELECT name FROM categories ORDER BY id')
    .all()
    .map(({ name }) => name);
}

/** Copies parts of a database as a kill leaves them, after two commits in the log that rename the category to Cat. */
export function leaveKilled(file: string, to: string, parts: readonly string[] = ['', '-wal', '-shm']): void {
  using killed = new DatabaseSync(file);
  killed.exec('PRAGMA wal_autocheckpoint = 0');
  for (const name of ['Ox', 'Cat']) killed.exec(`UPDATE categories SET name = '${name}', checksum = null WHERE id = 1`);
  for (const part of parts) copyFileSync(file + part, to + part);
}

/** Every file of a folder with its bytes, by a digest; the locks beside databases are no part of them. */
export function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isFile());
  const kept = names.map(({ name }) => name).filter((name) => !name.endsWith('.lock'));
  return Object.fromEntries(
    kept.sort().map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

/** Writes over bytes of a file; the default is its second page. */
export function overwrite(file: string, { at = 4_096, bytes = 4_096 } = {}): void {
  const content = readFileSync(file);
  content.fill(0xff, at, at + bytes);
  writeFileSync(file, content);
}

/** Flips a bit. */
export function flip(file: string, at: number): void {
  const content = readFileSync(file);
  assert.ok(existsSync(file) && at < content.length);
  content[at] = (content[at] ?? 0) ^ 1;
  writeFileSync(file, content);
}

/** Accepts a `DatabaseNotOpened` with a message. */
export function says(message: string | RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof DatabaseNotOpened, `${(error as Error).stack}`);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  };
}

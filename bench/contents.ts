import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ApiKey, newApiKey, type SecretRecord, secretRecord } from '../src/catalog/api-key.ts';
import type { Operator } from '../src/catalog/audit.ts';
import { LIMIT_MAX, type Limits } from '../src/catalog/plan.ts';
import { readConfig } from '../src/config.ts';
import { systemTime } from '../src/stdx/time.ts';
import { openStorage } from '../src/storage/open.ts';

/** Room for everything that a workload creates. */
export const CATEGORIES_MAX = 1_000_000;
export const CATEGORIES_BYTES_MAX = 1_073_741_824;
const CATEGORIES_AT_ONCE = 5_000;
/** The operator recorded for the keys. */
const OPERATOR: Operator = { actor: 'bench', via: 'cli' };
const BAN_SECONDS = 3_600;
/** Limits above any load. */
const UNREACHED: Limits = { minute: LIMIT_MAX, day: LIMIT_MAX };

/** Puts categories into a database that no service has open. */
export async function addCategories(databaseUrl: string, count: number): Promise<void> {
  await using storage = await open(databaseUrl);
  for (let first = 0; first < count; first += CATEGORIES_AT_ONCE) {
    const numbers = Array.from(
      { length: Math.min(CATEGORIES_AT_ONCE, count - first) },
      (_, index) => first + index + 1,
    );
    await Promise.all(
      numbers.map((number) =>
        storage.categories.insert(
          { name: `Category ${number}`, description: 'Loyal, social, needs walks' },
          { keyId: 'key_bench' },
        ),
      ),
    );
  }
}

/** Issues a key that no load exhausts, unless other limits are given, and returns its secret. */
export async function addKey(databaseUrl: string, limits: Limits = UNREACHED): Promise<string> {
  await using storage = await open(databaseUrl);
  const { key, secret } = mint(limits);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  return secret;
}

/** Issues a key that is banned for the next hour. */
export async function addBannedKey(databaseUrl: string): Promise<string> {
  await using storage = await open(databaseUrl);
  const { key, secret } = mint(UNREACHED);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  const now = systemTime().now().unix;
  const ban = { startedAt: now, endsAt: now + BAN_SECONDS, level: 4, reason: 'refused too often' };
  await storage.keys.impose(key.id, ban, { epoch: 0, isAnswered: true });
  return secret;
}

/**
 * Issues many keys in one transaction, which `keys create` would take a commit each for, and returns their secrets.
 * For a database file only.
 */
export function addKeys(file: string, count: number): string[] {
  using database = new DatabaseSync(file);
  const insertKey = database.prepare(
    'INSERT INTO api_keys (id, name, environment, plan, per_minute, per_day, scopes, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertSecret = database.prepare(
    'INSERT INTO api_key_secrets (hash, key_id, prefix, created_at) VALUES (?, ?, ?, ?)',
  );
  const insert = (key: ApiKey, { hash, prefix }: SecretRecord) => {
    const { id, name, environment, plan, limits, scopes, createdAt } = key;
    insertKey.run(id, name, environment, plan, limits.minute, limits.day, scopes.join(' '), createdAt);
    insertSecret.run(hash, id, prefix, createdAt);
  };
  database.exec('BEGIN');
  const secrets = Array.from({ length: count }, () => {
    const { key, secret } = mint(UNREACHED);
    insert(key, secretRecord(secret));
    return secret;
  });
  database.exec('COMMIT');
  return secrets;
}

/** A database file of its own with so many categories, made once for each number and copied from then on. */
export async function databaseFile(folder: string, categories: number): Promise<string> {
  const template = join(folder, `template-${categories}.db`);
  if (!existsSync(template)) {
    rmSync(template, { force: true });
    await addCategories(`sqlite:${template}`, categories);
  }
  const copy = join(folder, `service-${process.hrtime.bigint()}.db`);
  copyFileSync(template, copy);
  return copy;
}

function open(databaseUrl: string) {
  const config = readConfig({ flags: { DATABASE_URL: databaseUrl }, env: {}, file: {} });
  return openStorage(config.database, {
    time: systemTime(),
    categoriesMax: CATEGORIES_MAX,
    categoriesBytesMax: CATEGORIES_BYTES_MAX,
  });
}

function mint(limits: Limits): { key: ApiKey; secret: string } {
  return newApiKey({ name: 'bench', environment: 'production', plan: 'enterprise', limits }, systemTime().now().unix);
}

import type { DatabaseAddress } from '../config.ts';
import { utc } from '../stdx/time.ts';
import type { Contents } from '../storage/sqlite/contents.ts';
import { salvage } from '../storage/sqlite/repair.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { table } from './table.ts';

export interface RepairOptions {
  readonly backup?: string;
  /** A new file for what is intact. */
  readonly to?: string;
  readonly json?: true;
}

/** `doctor --repair`: what a damaged file still holds, written to a new file if one is named. */
export function repair(
  database: DatabaseAddress,
  { backup, to, json, invocation }: RepairOptions & { readonly invocation: Invocation },
): void {
  if (database.engine !== 'sqlite') throw new UsageError('--repair is for an embedded database');
  const found = salvage(database.file, { ...(backup !== undefined && { backup }), ...(to !== undefined && { to }) });
  const { logDamage, commits, behind, intact, lost } = found;
  const rows = [contentsRow('INTACT', intact)];
  if (found.backup) rows.push(contentsRow(`BACKUP OF ${utc(found.backup.madeAt.getTime() / 1000)}`, found.backup));
  const headings = ['', 'CATEGORIES', 'LAST ID', 'PETS', 'ORDERS', 'KEYS', 'DAMAGE'];
  const log = logDamage
    ? `${database.file} is damaged: ${logDamage}. ${commits} commits before the damage are intact; ${behind} after it are partly left, but SQLite cannot read them`
    : `The log of ${database.file} is not damaged; it holds ${commits} commits`;
  const pages = intact.damage
    ? `\nIts pages are damaged: ${intact.damage}. What is intact was read row by row; these could not be read: ${lost.join(', ') || 'none that are known'}`
    : '';
  invocation.print(json ? JSON.stringify(found) : `${log}${pages}\n${table(headings, rows)}`);
  if (to !== undefined) {
    invocation.tell(
      `The intact data is in ${to}, and ${database.file} was not changed; \`pet-catalog restore ${to}\` puts it in place`,
    );
    return;
  }
  if (logDamage ?? intact.damage) throw new UsageError('Nothing was written; --to FILE writes the intact data', 1);
}

function contentsRow(name: string, { rows, lastCategory, damage }: Contents): string[] {
  const count = (of: string) => `${rows[of] ?? '?'}`;
  return [
    name,
    count('categories'),
    `${lastCategory}`,
    count('pets'),
    count('orders'),
    count('api_keys'),
    damage ?? 'none',
  ];
}

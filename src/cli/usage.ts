import type { Command } from 'commander';
import type { AuditEntry } from '../catalog/audit.ts';
import { auditJson, usageJson } from '../catalog/operator/json.ts';
import type { Storage } from '../catalog/storage.ts';
import { USAGE_PERIODS, usagePeriod } from '../catalog/usage.ts';
import { type CommandContext, commandsOf } from './command-runner.ts';
import { type Invocation, readDuration, UsageError } from './invocation.ts';
import { table } from './table.ts';

/** Entries per page of the audit log; all pages are printed. */
const ENTRIES_PER_PAGE = 1_000;

/** Adds `usage` and `audit`. */
export function addUsageCommands(program: Command, invocation: Invocation): void {
  const add = commandsOf(program, invocation, { settings: ['DATABASE_URL'] });
  const withSince = (command: Command, since: string) =>
    command
      .option('--since <duration>', 'how far back, such as 90s, 10m, 24h or 30d', since)
      .option('--json', 'print JSON');

  withSince(add('usage [id]', 'Show the usage of each key, or of one', 'read', showUsage), '24h');
  withSince(add('audit', 'Show the changes made by operators, newest first', 'read', showAudit), '7d');
}

interface Since {
  readonly options: { readonly since: string };
}

async function showUsage({ storage, now, options: { since } }: CommandContext & Since, id?: string) {
  const seconds = readSince(since);
  if (id !== undefined && !(await storage.keys.find(id))) throw new UsageError(`There is no key ${id}`, 1);
  // Minutes are complete; hours are written later, and a kill may lose some.
  const period = seconds <= USAGE_PERIODS.minute.keptSeconds ? 'minute' : usagePeriod(seconds);
  const query = { period, since: now - seconds, keyId: id, group: 'key' } as const;
  const sums = await storage.usage.sums(query);
  const used = sums.sort((one, other) => other.served - one.served).map((each) => usageJson(each));
  if (used.length === 0) return { json: used, text: '', note: `No requests with a key in the last ${since}` };
  const rows = used.map(({ id, name, served, refused, clientErrors, serverErrors, first, last }) => {
    const counts = [served, refused, clientErrors, serverErrors].map(String);
    return [id, name, ...counts, first, last];
  });
  const headings = ['ID', 'NAME', 'SERVED', 'REFUSED', 'CLIENT ERRORS', 'SERVER ERRORS', 'FIRST', 'LAST'];
  const note =
    'Usage is stored every five seconds, and for ranges above 2 days every minute; a kill may lose the latest';
  return { json: used, text: table(headings, rows), note };
}

async function showAudit({ storage, now, options: { since } }: CommandContext & Since) {
  const entries = (await readAudit(storage, now - readSince(since))).map(auditJson);
  if (entries.length === 0) return { json: entries, text: '', note: `No changes in the last ${since}` };
  const rows = entries.map(({ before, after, ...others }) => [
    ...Object.values(others),
    `${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  ]);
  return { json: entries, text: table(['AT', 'ACTOR', 'VIA', 'ACTION', 'TARGET', 'CHANGE'], rows) };
}

function readSince(text: string): number {
  return readDuration(text, '--since', { min: 1 });
}

async function readAudit(storage: Storage, since: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (;;) {
    const before = entries.at(-1)?.id;
    const page = await storage.audit.list({ since, limit: ENTRIES_PER_PAGE, before });
    entries.push(...page);
    if (page.length < ENTRIES_PER_PAGE) return entries;
  }
}

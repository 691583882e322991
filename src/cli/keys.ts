import type { Command } from 'commander';
import { type ApiKey, SCOPES, scopesNamed } from '../catalog/api-key.ts';
import { changeKey, issueKey, keyWithId, liftBan, revokeKey, rotateKey } from '../catalog/operator/changes.ts';
import { type KeyJson, keysJson } from '../catalog/operator/json.ts';
import { type Limits, PLAN_NAMES, planNamed } from '../catalog/plan.ts';
import { refusedUntil } from '../catalog/window-counts.ts';
import { utc } from '../stdx/time.ts';
import { type CommandContext, commandsOf } from './command-runner.ts';
import { type Invocation, readDuration, UsageError } from './invocation.ts';
import { table } from './table.ts';

interface CreateOptions extends LimitOptions {
  readonly name: string;
  readonly plan: string;
  readonly scopes?: string;
  readonly expires?: string;
  readonly owner?: string;
}

interface LimitOptions {
  readonly perMinute?: string;
  readonly perDay?: string;
}

/** Adds `keys …`. */
export function addKeysCommand(program: Command, invocation: Invocation): void {
  const group = program.command('keys').description('Issue and manage API keys');
  const add = commandsOf(group, invocation, { settings: ['DATABASE_URL', 'ENVIRONMENT'], json: true });

  withLimits(add('create', 'Issue a key and print it, alone on stdout and only this once', 'create', create))
    .requiredOption('--name <name>', 'the purpose of the key')
    .option('--plan <plan>', PLAN_NAMES.join(', '), 'free')
    .option('--scopes <scopes>', `some of ${SCOPES.join(',')} (default: all)`)
    .option('--expires <duration>', 'lifetime, such as 90d (default: unlimited)')
    .option('--owner <text>', "the customer's own id");

  add('list', 'List the keys', 'read', async ({ storage, now }) => {
    const keys = await keysJson({ storage, now }, await storage.keys.list());
    return { json: keys, text: listed(keys, now) };
  });

  add('show <id>', 'Show one key', 'read', async (context, id) => shown(context, await keyWithId(context, id)));

  withLimits(add('set-plan <id> <plan>', `Change the plan of a key: ${PLAN_NAMES.join(', ')}`, 'change', setPlan));

  add('rotate <id>', 'Give a key a new secret; the old one works until the grace ends', 'change', rotate).option(
    '--grace <duration>',
    '0 to 30d',
    '24h',
  );

  add('revoke <id>', 'Revoke a key permanently', 'change', async (context, id) =>
    shown(context, await revokeKey(context, id)),
  );

  add('unban <id>', 'Lift the ban of a key', 'change', async (context, id) => {
    if (!(await liftBan(context, id))) invocation.tell(`The key ${id} is not banned`);
    const key = await keyWithId(context, id);
    const counts = await context.storage.limits.counts(id);
    // A lift does not empty the windows.
    const until = refusedUntil(counts, key.limits, context.now);
    if (until !== undefined) invocation.tell(`Its counts were not reset: requests are refused until ${utc(until)}`);
    return shown(context, key);
  });
}

function withLimits(command: Command): Command {
  return command
    .option('--per-minute <count>', 'requests per minute, for the enterprise plan')
    .option('--per-day <count>', 'requests per day, for the enterprise plan');
}

async function create({ options, ...context }: CommandContext & { options: CreateOptions }) {
  const limits = readLimits(options);
  const { key, secret } = await issueKey(context, {
    name: options.name,
    plan: planNamed(options.plan),
    ...(limits && { limits }),
    ...(options.owner !== undefined && { owner: options.owner }),
    ...(options.scopes !== undefined && { scopes: scopesNamed(options.scopes.split(',').map((name) => name.trim())) }),
    ...(options.expires !== undefined && { expiresAt: context.now + readDuration(options.expires, '--expires') }),
  });
  return { json: { ...(await described(context, key)), key: secret }, text: secret };
}

async function setPlan({ options, ...context }: CommandContext & { options: LimitOptions }, id: string, plan: string) {
  const limits = readLimits(options);
  return shown(context, await changeKey(context, id, { plan: planNamed(plan), ...(limits && { limits }) }));
}

async function rotate(context: CommandContext & { options: { grace: string } }, id: string) {
  const { key, secret } = await rotateKey(context, id, readDuration(context.options.grace, '--grace'));
  return { json: { ...(await described(context, key)), key: secret }, text: secret };
}

async function shown(context: CommandContext, key: ApiKey) {
  const json = await described(context, key);
  return { json, text: JSON.stringify(json, null, 2) };
}

async function described(context: CommandContext, key: ApiKey): Promise<KeyJson | undefined> {
  return (await keysJson(context, [key]))[0];
}

function readLimits({ perMinute, perDay }: LimitOptions): Limits | undefined {
  if (perMinute === undefined && perDay === undefined) return undefined;
  if (perMinute === undefined || perDay === undefined) throw new UsageError('--per-minute and --per-day go together');
  return { minute: readCount(perMinute, '--per-minute'), day: readCount(perDay, '--per-day') };
}

function readCount(text: string, option: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`${option} is "${text}"; write a whole number`);
  return Number(text);
}

function listed(keys: readonly KeyJson[], now: number): string {
  if (keys.length === 0) return 'No keys yet; `pet-catalog keys create --name NAME` issues one';
  const rows = keys.map((key) => {
    const { id, name, prefix, plan, limits } = key;
    return [id, name, `${prefix}…`, plan, `${limits.minute}/min ${limits.day}/day`, state(key, now)];
  });
  return table(['ID', 'NAME', 'KEY', 'PLAN', 'LIMITS', 'STATE'], rows);
}

function state(key: KeyJson, now: number): string {
  if (key.revokedAt) return `revoked ${key.revokedAt}`;
  if (key.expiresAt && key.expiresAt <= utc(now)) return `expired ${key.expiresAt}`;
  return key.ban ? `banned until ${key.ban.until}` : 'active';
}

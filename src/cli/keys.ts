import type { Command } from 'commander';
import {
  type ApiKey,
  mintSecret,
  newApiKey,
  planLimits,
  ROTATION_GRACE_MAX_SECONDS,
  SCOPES,
  type Scope,
  secretRecord,
} from '../catalog/api-key.ts';
import type { Operator } from '../catalog/audit.ts';
import { CatalogError } from '../catalog/error.ts';
import type { Ban } from '../catalog/limit.ts';
import { type Limits, PLAN_NAMES, type PlanName } from '../catalog/plan.ts';
import type { Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import { systemClock, utc } from '../stdx/clock.ts';
import { parseDuration } from '../stdx/duration.ts';
import { openStorage } from '../storage/open.ts';
import { type Invocation, settings, systemOperator, tellOfDamage, UsageError, withSettings } from './invocation.ts';
import { requireDatabase } from './running.ts';
import { table } from './table.ts';

interface CommandContext {
  readonly storage: Storage;
  readonly config: Config;
  readonly now: number;
  readonly by: Operator;
}

interface CreateOptions extends LimitOptions {
  readonly name: string;
  readonly plan: string;
  readonly scopes?: string;
  readonly expires?: string;
}

interface LimitOptions {
  readonly perMinute?: string;
  readonly perDay?: string;
}

/** Adds `keys …`. */
export function addKeysCommand(program: Command, invocation: Invocation): void {
  const group = program.command('keys').description('Issue and manage API keys');
  const add = (usage: string, description: string) =>
    withSettings(group.command(usage).description(description).option('--json', 'print JSON'), [
      'DATABASE_URL',
      'ENVIRONMENT',
    ]);

  withLimits(add('create', 'Issue a key; stdout has the key alone, and it is shown only once'))
    .requiredOption('--name <name>', 'the purpose of the key')
    .option('--plan <plan>', PLAN_NAMES.join(', '), 'free')
    .option('--scopes <scopes>', `some of ${SCOPES.join(',')} (default: all)`)
    .option('--expires <duration>', 'lifetime, such as 90d (default: unlimited)')
    .action((options: CreateOptions, self: Command) =>
      run(self, (context) => create(context, options), { mayCreate: true }),
    );

  add('list', 'List the keys').action((_options: unknown, self: Command) =>
    run(self, async ({ storage, now }) => {
      const bans = new Map((await storage.limits.listBans(now)).map((ban) => [ban.keyId, ban]));
      const keys = (await storage.keys.list()).map((key) => keyAsJson(key, bans.get(key.id)));
      return { json: keys, text: listed(keys, now) };
    }),
  );

  add('show <id>', 'Show one key').action((id: string, _options: unknown, self: Command) =>
    run(self, async (context) => shown(context, await context.storage.keys.find(id), id)),
  );

  withLimits(add('set-plan <id> <plan>', `Change the plan of a key: ${PLAN_NAMES.join(', ')}`)).action(
    (id: string, plan: string, options: LimitOptions, self: Command) =>
      run(self, (context) => setPlan(context, id, plan, options)),
  );

  add('rotate <id>', 'Give a key a new secret; the old one works until the grace ends')
    .option('--grace <duration>', '0 to 30d', '24h')
    .action((id: string, { grace }: { grace: string }, self: Command) =>
      run(self, (context) => rotate(context, id, grace)),
    );

  add('revoke <id>', 'Revoke a key permanently').action((id: string, _options: unknown, self: Command) =>
    run(self, async (context) => shown(context, await context.storage.keys.revoke(id, context.now, context.by), id)),
  );

  add('unban <id>', 'Lift the ban of a key').action((id: string, _options: unknown, self: Command) =>
    run(self, async (context) => {
      const key = await context.storage.keys.find(id);
      if (key && !(await context.storage.limits.liftBan(id, context.now, context.by)))
        invocation.tell(`The key ${id} is not banned`);
      return shown(context, key, id);
    }),
  );

  async function run(
    self: Command,
    work: (context: CommandContext) => Promise<{ json: unknown; text: string }>,
    { mayCreate = false } = {},
  ): Promise<void> {
    const config = settings(self, invocation);
    if (!mayCreate) requireDatabase(config.database);
    const clock = systemClock();
    const { database, categoriesMax, categoriesBytesMax } = config;
    const options = { clock, categoriesMax, categoriesBytesMax, events: tellOfDamage(invocation) };
    await using storage = await openStorage(database, options);
    const { json, text } = await work({ storage, config, now: clock().unix, by: systemOperator() });
    invocation.print(self.opts<{ json?: true }>().json ? JSON.stringify(json) : text);
  }
}

function withLimits(command: Command): Command {
  return command
    .option('--per-minute <count>', 'requests per minute, for the enterprise plan')
    .option('--per-day <count>', 'requests per day, for the enterprise plan');
}

async function create({ storage, config, now, by }: CommandContext, options: CreateOptions) {
  const plan = readPlan(options.plan);
  const limits = readLimits(options);
  const scopes = options.scopes === undefined ? undefined : readScopes(options.scopes);
  const expiresAt = options.expires === undefined ? undefined : now + readDuration(options.expires, '--expires');
  const { key, secret } = newApiKey(
    {
      name: options.name,
      environment: config.environment,
      plan,
      ...(limits && { limits }),
      ...(scopes && { scopes }),
      ...(expiresAt !== undefined && { expiresAt }),
    },
    now,
  );
  await storage.keys.insert(key, secretRecord(secret), by);
  return { json: { ...keyAsJson(key, undefined), key: secret }, text: secret };
}

async function setPlan(context: CommandContext, id: string, plan: string, options: LimitOptions) {
  const name = readPlan(plan);
  const changes = { plan: name, limits: planLimits(name, readLimits(options)) };
  const key = await context.storage.keys.update(id, changes, context.by);
  if (key) refuseRevoked(key);
  return shown(context, key, id);
}

async function rotate({ storage, config, now, by }: CommandContext, id: string, grace: string) {
  const seconds = readDuration(grace, '--grace');
  if (seconds > ROTATION_GRACE_MAX_SECONDS) throw new UsageError(`--grace is ${grace}; write at most 30d`);
  const secret = mintSecret(config.environment);
  const key = found(await storage.keys.find(id), id);
  if (key.environment !== config.environment) {
    throw new UsageError(`The key ${id} belongs to ${key.environment}; set ENVIRONMENT to ${key.environment}`);
  }
  const rotated = found(await storage.keys.rotate(id, secretRecord(secret), { now, oldEndAt: now + seconds, by }), id);
  refuseRevoked(rotated);
  return { json: { ...keyAsJson(rotated, await banOf(storage, id, now)), key: secret }, text: secret };
}

function refuseRevoked({ id, revokedAt }: ApiKey): void {
  if (revokedAt !== null) throw new CatalogError('gone', `The key ${id} is revoked; issue a new one`);
}

async function shown({ storage, now }: CommandContext, key: ApiKey | undefined, id: string) {
  const json = keyAsJson(found(key, id), await banOf(storage, id, now));
  return { json, text: JSON.stringify(json, null, 2) };
}

async function banOf(storage: Storage, id: string, now: number): Promise<Ban | undefined> {
  return (await storage.limits.listBans(now)).find((ban) => ban.keyId === id);
}

function found(key: ApiKey | undefined, id: string): ApiKey {
  if (!key) throw new CatalogError('not_found', `There is no key ${id}; \`pet-catalog keys list\` shows them all`);
  return key;
}

function readPlan(text: string): PlanName {
  const plan = PLAN_NAMES.find((name) => name === text);
  if (!plan) throw new UsageError(`There is no plan ${text}; the plans are ${PLAN_NAMES.join(', ')}`);
  return plan;
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

function readScopes(text: string): Scope[] {
  const wanted = text.split(',').map((scope) => scope.trim());
  const unknown = wanted.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new UsageError(`There is no scope "${unknown}"; the scopes are ${SCOPES.join(', ')}`);
  return SCOPES.filter((scope) => wanted.includes(scope));
}

function readDuration(text: string, option: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined)
    throw new UsageError(`${option} is "${text}"; write a duration such as 90s, 10m, 24h or 30d`);
  return seconds;
}

function keyAsJson(key: ApiKey, ban: Ban | undefined) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    environment: key.environment,
    plan: key.plan,
    limits: key.limits,
    scopes: key.scopes,
    createdAt: utc(key.createdAt),
    expiresAt: key.expiresAt === null ? null : utc(key.expiresAt),
    revokedAt: key.revokedAt === null ? null : utc(key.revokedAt),
    ban: ban ? { until: utc(ban.endsAt), reason: ban.reason } : null,
  };
}

function listed(keys: readonly ReturnType<typeof keyAsJson>[], now: number): string {
  if (keys.length === 0) return 'No keys yet; `pet-catalog keys create --name NAME` issues one';
  const rows = keys.map((key) => [
    key.id,
    key.name,
    `${key.prefix}…`,
    key.plan,
    `${key.limits.minute}/min ${key.limits.day}/day`,
    state(key, now),
  ]);
  return table(['ID', 'NAME', 'KEY', 'PLAN', 'LIMITS', 'STATE'], rows);
}

function state(key: ReturnType<typeof keyAsJson>, now: number): string {
  if (key.revokedAt) return `revoked ${key.revokedAt}`;
  if (key.expiresAt && key.expiresAt <= utc(now)) return `expired ${key.expiresAt}`;
  return key.ban ? `banned until ${key.ban.until}` : 'active';
}

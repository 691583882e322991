import { createHash } from 'node:crypto';
import { type ApiKey, newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import type { RunningBan } from '../../src/catalog/ban.ts';
import type { Limits } from '../../src/catalog/plan.ts';
import type { Tables } from '../../src/storage/sql/tables.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type NewStatement, SimulatedDatabase } from './database.ts';
import { Dice } from './dice.ts';
import type { Answered, Call, Charged, Life, Place } from './life.ts';
import type { StoredBan } from './models/bans.ts';
import { SafePoint } from './models/calm.ts';
import { type Between, CatalogModel } from './models/catalog.ts';
import { checkHistory } from './models/history.ts';
import { KeyModel, type KeyVersion } from './models/keys.ts';
import { LimitsModel } from './models/limits.ts';
import { promise } from './models/promise.ts';
import { UsageModel, type UsageRow } from './models/usage.ts';
import { type SetInRedis, SimulatedRedis } from './redis.ts';
import { Server } from './server.ts';
import { VirtualTime } from './virtual-time.ts';

const START_MS = Date.UTC(2026, 0, 1, 12);
const LISTED_BYTES_MAX = 1_000_000;
/** What a crash may lose: a second of counts and a minute of usage by hour, with the time that the saving takes. */
const COUNTS_LOST_MS = 1_000;
const USAGE_LOST_MS = 66_000;
/** Outcomes are kept for a day of the clock of a process, which may have been stepped by half of that. */
const OUTCOMES_KEPT_MS = 43_200_000;
/** Half a second between flushes, and the time that one takes. */
const FLUSHED_MS = 700;
/** How long a database that was locked is asked again, and a storage that failed is taken to fail still. */
const SETTLED_MS = 1_500;
const FAILING_MS = 3_000;
/** How often the processes look which Redis answers, and how long that takes. */
const LOOK_MS = 1_000;
const LOOKED_MS = 500;

/** How long a process may still meet connections to a server that is gone. */
const FAILED_OVER_MS = 1_000;
const SELECT_KEYS = 'select id, per_minute, per_day, revoked_at from api_keys';
const SELECT_BANS = 'select key_id, started_at, ends_at, level, lifted_at from bans';

/** A client's key. */
export interface WorldKey {
  readonly id: string;
  readonly secret: string;
  readonly model: KeyModel;
  /** Whether an operator is changing it. */
  isChanging: boolean;
}

/** A request on its way. */
interface Pending {
  readonly life: Life;
  readonly key: WorldKey;
  readonly call: Call;
  readonly askedMs: number;
  /** The Unix second at the process. */
  readonly asked: number;
  /** The database went back since it was asked. */
  mayBeLost: boolean;
}

interface StoredKey {
  readonly id: string;
  readonly per_minute: number;
  readonly per_day: number;
  readonly revoked_at: number | null;
}

/** Instances, their servers and their clients, with the models of what they promise. */
export class World implements Disposable {
  readonly dice: Dice;
  readonly time = new VirtualTime(START_MS);
  readonly database: SimulatedDatabase;
  readonly redis: SimulatedRedis | undefined;
  readonly servers: readonly Server[];
  readonly keys: WorldKey[] = [];
  readonly catalog = new CatalogModel();
  readonly limits: LimitsModel;
  readonly usage = new UsageModel();
  readonly categoriesMax: number;
  readonly banAfter: number;
  /** Whether clocks are stepped in it. */
  readonly hasSteps: boolean;
  readonly trace: string[] = [];
  readonly #pending = new Set<Pending>();
  readonly #countsSafe: SafePoint;
  readonly #usageSafe: SafePoint;
  readonly #flushSafe: SafePoint;
  /** What was counted up to these moments is on the standby that was cut off last. */
  #standbySafe = { countsMs: 0, usageMs: 0 };
  /** Losses of Redis that some processes may not have noticed. */
  #unnoticed = 0;
  readonly #digest = createHash('sha256');
  readonly #onDeath = new Map<Life, Set<() => void>>();
  #failure: unknown;
  #roughMs = 0;
  #named = 0;
  #issued = 0;
  /** How often the database failed over. */
  failOvers = 0;

  constructor(seed: number, statements: readonly NewStatement[]) {
    this.dice = new Dice(seed);
    const { dice, time } = this;
    this.database = new SimulatedDatabase(`world-${seed}`, statements);
    const instances = dice.chance(0.4) ? 1 : dice.between(2, 4);
    this.banAfter = dice.between(2, 6);
    this.hasSteps = dice.chance(0.3);
    this.categoriesMax = dice.between(5, 30);
    const skewMs = dice.between(-400, 400);
    const onSet = (set: SetInRedis) => this.limits.setInRedis(set, { nowMs: time.nowMs, mayMiss: this.#mayMiss });
    this.redis = instances === 1 ? undefined : new SimulatedRedis({ time, dice, skewMs, onSet });
    const runningMs = (fromMs: number, toMs: number) => time.runningMs(fromMs, toMs);
    this.limits = new LimitsModel({ banAfter: this.banAfter, shared: this.redis && { instances, skewMs }, runningMs });
    this.limits.bans.isDated = !this.hasSteps;
    const { database, redis, banAfter, categoriesMax } = this;
    const bounds = { categoriesMax, categoriesBytesMax: LISTED_BYTES_MAX };
    const place: Place = { time, database, redis, instances, banAfter, ...bounds };
    const observer = {
      onBan: (life: Life, ban: RunningBan & { readonly keyId: string }) =>
        this.#attempt(() => {
          this.note(`${this.#nameOf(life)} bans ${ban.keyId} at level ${ban.level}`);
          const limits = this.keys.find(({ id }) => id === ban.keyId)?.model.limits ?? [];
          this.limits.banned({ life, ban, limits, nowMs: time.nowMs, roughUntilMs: this.roughUntilMs });
        }),
      onDefect: (error: unknown) => this.fail(error),
      onDegraded: (life: Life, isDegraded: boolean) =>
        this.note(`${this.#nameOf(life)} counts ${isDegraded ? 'without' : 'with'} Redis`),
    };
    this.servers = Array.from({ length: instances }, (_, index) => new Server(`s${index}`, place, { dice, observer }));
    this.#countsSafe = new SafePoint(START_MS, COUNTS_LOST_MS);
    this.#usageSafe = new SafePoint(START_MS, USAGE_LOST_MS);
    this.#flushSafe = new SafePoint(START_MS, FLUSHED_MS);
  }

  /** What went wrong first. */
  get failure(): unknown {
    return this.#failure;
  }

  get digest(): string {
    return this.#digest.copy().digest('hex');
  }

  /** The last moment at which the database, or a way to it, was not as it should be. */
  get roughUntilMs(): number {
    return Math.max(this.#roughMs, ...this.servers.map(({ ways }) => ways.database.roughUntilMs));
  }

  /** Whether a process may count in Redis without what was saved. */
  get #mayMiss(): boolean {
    return this.#unnoticed > 0 || this.time.nowMs < this.roughUntilMs + SETTLED_MS + FAILING_MS;
  }

  get up(): Server[] {
    return this.servers.filter(({ state }) => state === 'up');
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    const dated = `${((this.time.nowMs - START_MS) / 1_000).toFixed(3)} ${line}`;
    this.trace.push(dated);
    this.#digest.update(`${dated}\n`);
  }

  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** From now on for so long, the database is not as it should be. */
  roughen(ms: number): void {
    this.#roughMs = Math.max(this.#roughMs, this.time.nowMs + ms);
  }

  newName(): string {
    this.#named += 1;
    return `category ${this.#named}`;
  }

  /** Issues a key on a server that is up. */
  async issue(server: Server, limits: Limits): Promise<void> {
    const now = Math.floor(START_MS / 1_000);
    const made = newApiKey({ name: 'client', environment: 'production', plan: 'enterprise', limits }, now);
    this.#issued += 1;
    const id = `key_${this.#issued}`;
    const key: ApiKey = { ...made.key, id };
    const { failOvers } = this;
    await server.life?.storage.keys.insert(key, secretRecord(made.secret), OPERATOR);
    if (this.failOvers === failOvers)
      this.keys.push({ id, secret: made.secret, model: new KeyModel(id, limits), isChanging: false });
  }

  /** A client sends a request; what it is answered is checked when it is. */
  send(server: Server, key: WorldKey, call: Omit<Call, 'secret'>): void {
    const { life } = server;
    if (!life) return;
    const asked = life.clock.now().unix;
    const pending = {
      life,
      key,
      call: { ...call, secret: key.secret },
      askedMs: this.time.nowMs,
      asked,
      mayBeLost: false,
    };
    this.#pending.add(pending);
    if (call.name !== undefined) this.catalog.begin(call.name);
    const onCharged = (charged: Charged) => {
      if (this.#pending.has(pending)) this.#charged(server, pending, charged);
    };
    life.serve(pending.call, onCharged).then(
      (answered) => {
        if (this.#pending.delete(pending)) this.#attempt(() => this.#answered(server, pending, answered));
      },
      (error) => this.fail(error),
    );
  }

  isBusy(life: Life): boolean {
    return [...this.#pending].some((pending) => pending.life === life);
  }

  /** A server's process is killed. */
  kill(server: Server): void {
    const { life } = server;
    if (!life) return;
    server.kill();
    this.#ended(life);
  }

  /** Stops a server gracefully. If the database fails meanwhile, what could not be saved is lost. */
  async stop(server: Server): Promise<void> {
    const { life } = server;
    if (!life) return;
    const startedMs = this.time.nowMs;
    await server.stop(() => this.isBusy(life));
    const isSaved = this.roughUntilMs < startedMs;
    if (!isSaved || this.isBusy(life)) this.#ended(life);
  }

  /** From now on the standby receives nothing; false if it cannot be cut off now. */
  cutStandbyOff(): boolean {
    const isCutOff = this.database.cutStandbyOff();
    if (isCutOff) this.#standbySafe = { countsMs: this.#countsSafe.ms, usageMs: this.#usageSafe.ms };
    return isCutOff;
  }

  /** A standby takes over that lacks what the database committed last. */
  failOver(): void {
    this.database.failOver();
    this.failOvers += 1;
    this.roughen(FAILED_OVER_MS);
    const { database, time, catalog } = this;
    catalog.goBack(database.read('select id, name from categories') ?? [], time.nowMs);
    const stored = new Map((database.read<StoredKey>(SELECT_KEYS) ?? []).map((row) => [row.id, row]));
    for (const { id, model } of this.keys) {
      const row = stored.get(id);
      model.goBack(row && versionOf(row), time.nowMs);
    }
    const lost = this.keys.splice(0);
    this.keys.push(...lost.filter(({ id }) => stored.has(id)));
    const bans = database.read<StoredBan>(SELECT_BANS) ?? [];
    this.#attempt(() => this.limits.loseSaved(bans, { atMs: time.nowMs, safeMs: this.#standbySafe.countsMs }));
    // A process that counts alone has only the keys in memory that it has met: the others it reads from the standby.
    if (!this.redis) this.#attempt(() => this.limits.shift(this.servers[0]?.life, time.nowMs));
    this.usage.lose(undefined, this.#standbySafe.usageMs);
    // What was committed may be answered after it was lost.
    for (const pending of this.#pending) pending.mayBeLost = true;
  }

  /** The counts in Redis are older now, or gone; some processes may notice that only after a while. */
  loseRedis({ isNoticed = true } = {}): void {
    const inRedis = (keyId: string) => this.redis?.value(keyId) ?? '';
    this.#attempt(() => this.limits.lose({ atMs: this.time.nowMs, safeMs: this.#flushSafe.ms, inRedis }));
    if (isNoticed) return;
    this.#unnoticed += 1;
    // After a second of all processes, and the question that they ask then.
    const notice = () => {
      this.#unnoticed -= 1;
    };
    this.time.after(LOOK_MS, () => this.time.after(LOOKED_MS, notice));
  }

  /** Checks everything that must hold now. */
  check(): void {
    this.#attempt(() => {
      const { nowMs } = this.time;
      const roughMs = this.roughUntilMs;
      this.limits.check(nowMs);
      if (nowMs - this.#usageSafe.ms > OUTCOMES_KEPT_MS) this.usage.repeat(this.#usageSafe.ms);
      for (const safe of [this.#countsSafe, this.#usageSafe, this.#flushSafe]) safe.update(nowMs, roughMs);
      if (!this.#checkTables()) return;
      for (const { life } of this.up) {
        if (!life) continue;
        const list = { text: textOf(life), etag: life.categories.etag };
        this.catalog.checkList(life, list, { nowMs, roughUntilMs: roughMs });
      }
    });
  }

  /** Checks what must hold once everything was stopped gracefully, with nothing wrong. */
  checkEnd(): void {
    this.#attempt(() => {
      promise(this.#pending.size === 0, () => `${this.#pending.size} requests were never answered`);
      const usage = this.#usageRows();
      promise(usage !== undefined, () => 'the lock of the database was never released');
      this.usage.check(usage, { isAll: true });
      this.limits.bans.checkEnd();
    });
  }

  [Symbol.dispose](): void {
    for (const server of this.servers) server.kill();
    this.database[Symbol.dispose]();
  }

  /** Has something happen if a process ends without saving. Returns what calls it off. */
  onDeath(life: Life, happens: () => void): () => void {
    const all = this.#onDeath.get(life) ?? new Set();
    this.#onDeath.set(life, all.add(happens));
    return () => all.delete(happens);
  }

  /** A process ended without saving. */
  #ended(life: Life): void {
    for (const happens of this.#onDeath.get(life) ?? []) happens();
    for (const pending of this.#pending) {
      if (pending.life !== life) continue;
      this.#pending.delete(pending);
      const { name } = pending.call;
      if (name !== undefined) this.catalog.failed(name, { isUnknown: true }, spanOf(pending));
    }
    this.usage.lose(life, this.#usageSafe.ms);
    const atMs = this.time.nowMs;
    const safeMs = this.redis ? this.#flushSafe.ms : this.#countsSafe.ms;
    this.#attempt(() => {
      if (!this.redis) this.limits.lose({ atMs, safeMs });
      this.limits.forget(life, { atMs, safeMs });
      this.limits.bans.forget(life);
    });
  }

  #charged(server: Server, { life, call, askedMs }: Pending, { key, decision, isFromMemory }: Charged): void {
    const { nowMs } = this.time;
    const { minute, day, refusal = 'admitted' } = decision;
    const until = decision.ban ? ` until ${decision.ban.until}` : '';
    this.note(`${server.name} ${key.id}: ${refusal}${until}, ${minute.remaining}/${day.remaining} of ${minute.limit}`);
    this.limits.decided({
      life,
      key,
      decision,
      isPeek: call.operation === 'peek',
      isFromMemory,
      askedMs,
      nowMs,
      roughUntilMs: this.roughUntilMs,
    });
  }

  #answered(server: Server, pending: Pending, answered: Answered): void {
    const { life, key, call, askedMs } = pending;
    const { nowMs, roughUntilMs } = { nowMs: this.time.nowMs, roughUntilMs: this.roughUntilMs };
    const { status, code = '' } = answered;
    this.note(`${server.name} ${key.id}: ${status} ${code} ${call.operation} ${call.name ?? ''}`);
    if (answered.key) {
      life.usage.record(key.id, { method: 'GET', route: '/v1/categories', status }, life.clock.now().unix);
      this.usage.record(key.id, status, { atMs: nowMs, life });
    }
    if (!pending.mayBeLost && (status === 401 || answered.key)) {
      const { limits, resets } = answered.key ?? {};
      key.model.check({ life, askedMs, answeredMs: nowMs, roughUntilMs, limits, resets });
    }
    if (call.name !== undefined) this.#created(pending, call.name, answered);
  }

  #created(pending: Pending, name: string, { status, code, body, isReplay = false }: Answered): void {
    const { life, askedMs, mayBeLost } = pending;
    if (status !== 201 || mayBeLost) {
      this.catalog.failed(name, { isUnknown: mayBeLost || code === 'outcome_unknown' }, spanOf(pending));
      return;
    }
    const { id } = JSON.parse(body ?? '') as { id: number };
    this.catalog.stored(name, { id, isReplay }, spanOf(pending));
    if (askedMs <= this.roughUntilMs || !this.catalog.untouched.includes(id)) return;
    const isListed = textOf(life).includes(`{"id":${id},`);
    promise(isListed, () => `${name} was answered with the id ${id}, but the list does not show it`);
  }

  #nameOf(life: Life): string {
    return this.servers.find((server) => server.life === life)?.name ?? 'a process that ended';
  }

  /** False while they cannot be read. */
  #checkTables(): boolean {
    const { database, catalog, time } = this;
    const rows = database.read<{ id: number; name: string }>('select id, name from categories order by id');
    const counters = database.read<{ count: number }>('select count from category_counter');
    const keys = database.read<StoredKey>(SELECT_KEYS);
    const usage = this.#usageRows();
    const pets = database.read<Tables['pets']>('select * from pets');
    const orders = database.read<Tables['orders']>('select * from orders order by id');
    const changes = database.read<Tables['changes']>('select * from changes order by id');
    if (!rows || !counters || !keys || !usage || !pets || !orders || !changes) return false;
    checkHistory(pets, orders, changes);
    catalog.checkTable(rows, time.nowMs);
    promise(counters[0]?.count === rows.length, () => `${rows.length} categories are counted as ${counters[0]?.count}`);
    promise(rows.length <= this.categoriesMax, () => `${rows.length} categories of at most ${this.categoriesMax}`);
    this.usage.check(usage, { isAll: false });
    for (const row of keys) {
      const key = this.keys.find((each) => each.id === row.id);
      if (!key || key.isChanging) continue;
      key.model.change(versionOf(row), { begunMs: 0, doneMs: time.nowMs, madeBy: undefined });
    }
    const bans = database.read<StoredBan>(SELECT_BANS) ?? [];
    this.limits.bans.see(bans, { nowMs: time.nowMs, roughUntilMs: this.roughUntilMs });
    return true;
  }

  #usageRows(): UsageRow[] | undefined {
    return this.database.read<UsageRow>(
      `select key_id, sum(served) served, sum(client_errors) client_errors, sum(refused) refused,
       sum(server_errors) server_errors from key_route_usage group by key_id`,
    );
  }

  #attempt(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.fail(error);
    }
  }
}

function versionOf({ per_minute, per_day, revoked_at }: StoredKey): KeyVersion {
  return { limits: { minute: per_minute, day: per_day }, isRevoked: revoked_at !== null };
}

/** How long a request took until now, by the clock of its process, which may be stepped in between. */
function spanOf({ life, asked }: Pending): Between {
  const { unix } = life.clock.now();
  return { least: Math.min(asked, unix), most: Math.max(asked, unix) };
}

function textOf({ categories: { body } }: Life): string {
  return typeof body === 'string' ? body : Buffer.concat([...body]).toString('utf8');
}

import { CatalogError } from '../../src/catalog/error.ts';
import type { Limits } from '../../src/catalog/plan.ts';
import { OPERATOR } from '../kit/operator.ts';
import type { Life } from './life.ts';
import type { Server } from './server.ts';
import type { Fault } from './weather.ts';
import type { World, WorldKey } from './world.ts';

/** How long the outcome of a create is kept for retries. */
const KEPT_SECONDS = 86_400;
/** A step of the clock is noticed within a second, and saved half a second later. */
const MOVED_MS = 3_000;
/** Refusals count from so long on after the first one. */
const COUNTED_MS = 2_000;
/** How far a standby may be behind. */
const LAG_MS_MAX = 1_500;
/** How often an operator lifts the ban of any key, though another may have one. */
const LIFTS_OF_ANY = 0.3;
const FAULTS: Readonly<Record<Fault, number>> = { slow: 3, lossy: 3, silent: 1, down: 2 };
const STORAGE_UNAVAILABLE = ['unavailable', 'outcome_unknown', 'catalog_full'];
const REFUSED = [...STORAGE_UNAVAILABLE, 'validation_failed', 'insufficient_stock'];

/** What the dice may have happen in a step, and how often. */
const WEIGHTS = {
  requests: 30,
  hammer: 6,
  create: 10,
  retry: 4,
  changePlan: 3,
  revoke: 1.5,
  liftBan: 3,
  reset: 3,
  rename: 1,
  remove: 2,
  import: 1,
  shop: 6,
  databaseFault: 3,
  outage: 1.5,
  fullDisk: 0.7,
  databaseFailover: 1,
  redisFault: 4,
  redisRestart: 2,
  redisFlush: 0.6,
  redisScriptFlush: 0.4,
  redisSnapshot: 2,
  redisFailover: 0.7,
  purge: 0.5,
  kill: 1.5,
  restart: 1.5,
  clockStep: 1.5,
  leap: 4,
};
type Action = keyof typeof WEIGHTS;

/** An idempotent create that a client may send again. */
interface Retriable {
  readonly key: WorldKey;
  readonly name: string;
  readonly idempotencyKey: string;
  readonly sentMs: number;
}

/** What happens in the world: clients, operators and faults, by the dice. */
export class Actions {
  readonly #world: World;
  readonly #retriable: Retriable[] = [];
  #sent = 0;
  #steppedMs = 0;
  #isFailingOver = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Limits so small that clients meet them. */
  anyLimits(): Limits {
    const { dice } = this.#world;
    const minute = dice.between(2, 8);
    return { minute, day: minute + dice.between(0, 30) };
  }

  /** Does one thing, and returns how long to wait after it, in milliseconds. */
  step(): number {
    const world = this.#world;
    const { dice, servers } = world;
    for (const server of servers) {
      if (server.state === 'down' && dice.chance(0.3)) this.#start(server);
    }
    const action = dice.pickWeighted(WEIGHTS);
    world.note(`· ${action}`);
    this.#do[action]();
    const pace = dice.roll();
    if (pace < 0.5) return dice.between(0, 20);
    if (pace < 0.8) return dice.between(20, 300);
    return pace < 0.96 ? dice.between(300, 1_500) : dice.between(1_500, 5_000);
  }

  #start(server: Server): void {
    const { hasSteps, failOvers, redis, limits, time } = this.#world;
    this.#world.note(`${server.name} starts`);
    // A stored day that lies ahead is taken for today, and a database that failed over lacks counts.
    if ((hasSteps || failOvers > 0) && !redis) limits.shift(undefined, time.nowMs);
    server.start().catch((error) => this.#world.fail(error));
  }

  readonly #do: Readonly<Record<Action, () => void>> = {
    requests: () => {
      for (let left = this.#dice.between(1, 6); left > 0; left -= 1) {
        const operation = this.#dice.chance(0.15) ? 'peek' : 'list';
        this.#onAny((server, key) => this.#world.send(server, key, { operation }));
      }
    },
    hammer: () => this.#onAny((server, key) => this.#hammer(server, key)),
    create: () => {
      for (let left = this.#dice.between(1, 6); left > 0; left -= 1) this.#soon(() => this.#create());
    },
    retry: () => this.#retry(),
    changePlan: () => {
      for (let left = this.#dice.between(1, 3); left > 0; left -= 1) this.#soon(() => this.#changePlan());
      this.#callMeanwhile();
    },
    revoke: () => {
      if (this.#world.keys.length >= 6) return;
      this.#operate((life, key) => {
        const now = life.clock.now().unix;
        return { ...key.model.current, isRevoked: true, work: life.storage.keys.revoke(key.id, now, OPERATOR) };
      });
      this.#onAny((server) => void this.#world.issue(server, this.anyLimits()).catch(expected(this.#world)));
      this.#callMeanwhile();
    },
    liftBan: () => this.#liftBan(),
    reset: () => {
      this.#onAny(({ life }, key) => life && this.#reset(life, key));
      this.#callMeanwhile();
    },
    rename: () => this.#edit((life, id) => life.storage.categories.rename(id, this.#world.newName(), OPERATOR)),
    remove: () => this.#edit((life, id) => life.storage.categories.delete(id, OPERATOR)),
    import: () => this.#import(),
    shop: () => {
      for (let left = this.#dice.between(1, 4); left > 0; left -= 1)
        this.#soon(() => this.#onAny(({ life }, key) => life && this.#shop(life, key)));
    },
    databaseFault: () => {
      const { ways, name } = this.#anyServer;
      const fault = this.#dice.pickWeighted(FAULTS);
      this.#world.note(`${name}: the database is ${fault}`);
      ways.database.start(fault, this.#dice.between(50, 4_000));
    },
    outage: () => this.#onAny((server, key) => this.#outage(server, key)),
    fullDisk: () => this.#fillDisk(),
    databaseFailover: () => this.#failOver(),
    redisFault: () => {
      const { ways, name } = this.#anyServer;
      const fault = this.#dice.pickWeighted(FAULTS);
      this.#world.note(`${name}: Redis is ${fault}`);
      ways.redis.start(fault, this.#dice.between(20, 4_000));
    },
    redisRestart: () => this.#restartRedis(),
    redisFlush: () => {
      if (!this.#world.redis) return;
      this.#world.redis.flush();
      this.#world.loseRedis();
    },
    redisScriptFlush: () => this.#world.redis?.flushScripts(),
    redisSnapshot: () => this.#world.redis?.takeSnapshot(),
    redisFailover: () => {
      if (!this.#world.redis?.isUp) return;
      this.#world.redis.failOver();
      this.#world.loseRedis({ isNoticed: false });
    },
    // A service does it again and again, so no failure matters.
    purge: () =>
      this.#onAny(({ life }) => {
        if (!life) return;
        this.#world.catalog.purge(life.clock.now().unix);
        life.storage.purgeOutcomes().catch(() => {});
      }),
    kill: () =>
      this.#onSettled((server) => {
        this.#world.note(`${server.name} is killed`);
        this.#world.kill(server);
      }),
    restart: () =>
      this.#onSettled((server) => {
        this.#world.note(`${server.name} stops`);
        this.#world.stop(server).catch((error) => this.#world.fail(error));
      }),
    clockStep: () => this.#stepClock(),
    leap: () => this.#leap(),
  };

  get #dice() {
    return this.#world.dice;
  }

  get #anyServer(): Server {
    return this.#dice.pick(this.#world.servers) as Server;
  }

  /** With a server that is up, and a key. */
  #onAny(work: (server: Server, key: WorldKey) => void, keys: readonly WorldKey[] = this.#world.keys): void {
    const server = this.#dice.pick(this.#world.up);
    const key = this.#dice.pick(keys);
    if (server && key) work(server, key);
  }

  #soon(work: () => void): void {
    this.#world.time.after(this.#dice.between(0, 60), work);
  }

  #hammer(server: Server, key: WorldKey): void {
    for (let left = this.#dice.between(5, 25); left > 0; left -= 1)
      this.#world.send(server, key, { operation: 'list' });
  }

  /** A server loses the database while a client is about to be banned, and an operator lifts bans meanwhile. */
  #outage(server: Server, key: WorldKey): void {
    this.#world.note(`${server.name}: the database is down`);
    server.ways.database.start('down', this.#dice.between(2_000, 6_000));
    const hammer = () => server.state === 'up' && this.#hammer(server, key);
    for (const ms of [0, COUNTED_MS]) this.#world.time.after(ms, hammer);
    this.#world.time.after(COUNTED_MS + this.#dice.between(0, 2_000), () => this.#liftBan());
  }

  #changePlan(): void {
    this.#operate((life, key) => {
      const limits = this.anyLimits();
      return { isRevoked: false, limits, work: life.storage.keys.update(key.id, { limits }, OPERATOR) };
    });
  }

  /** Clients do not wait for operators. */
  #callMeanwhile(): void {
    for (let left = this.#dice.between(5, 25); left > 0; left -= 1)
      this.#soon(() => this.#onAny((server, key) => this.#world.send(server, key, { operation: 'list' })));
  }

  #create(): void {
    this.#onAny((server, key) => {
      const name = this.#world.newName();
      this.#sent += 1;
      const idempotencyKey = this.#dice.chance(0.5) ? `attempt-${this.#sent}` : undefined;
      if (idempotencyKey) this.#retriable.push({ key, name, idempotencyKey, sentMs: this.#world.time.nowMs });
      this.#world.send(server, key, { operation: 'create', name, idempotencyKey });
    });
  }

  /** A client that got no answer sends the same again. */
  #retry(): void {
    const before = this.#dice.pick(this.#retriable);
    const server = this.#dice.pick(this.#world.up);
    if (!before || !server) return;
    const { key, name, idempotencyKey } = before;
    this.#world.send(server, key, { operation: 'create', name, idempotencyKey });
  }

  /** An operator changes a key, one change of it at a time. */
  #operate(begin: (life: Life, key: WorldKey) => { limits: Limits; isRevoked: boolean; work: Promise<unknown> }): void {
    this.#onAny(({ life, name }, key) => {
      if (!life || key.isChanging || key.model.current.isRevoked) return;
      key.isChanging = true;
      const begunMs = this.#world.time.nowMs;
      const { work, ...version } = begin(life, key);
      key.model.attempt(version);
      const { minute, day } = version.limits;
      this.#world.note(`${name}: ${key.id} becomes ${version.isRevoked ? 'revoked' : `${minute}/${day}`}`);
      const end = () => {
        key.isChanging = false;
      };
      const callOff = this.#world.onDeath(life, end);
      const { failOvers } = this.#world;
      work
        .then(() => {
          if (life.isDead) return;
          if (this.#world.failOvers === failOvers)
            key.model.change(version, { begunMs, doneMs: this.#world.time.nowMs, madeBy: life });
          end();
        })
        .catch((error) => {
          if (life.isDead) return;
          expected(this.#world)(error);
          end();
        })
        .finally(callOff);
    });
  }

  #liftBan(): void {
    const { time, limits, dice, keys } = this.#world;
    const banned = keys.filter(({ id }) => limits.bans.isOn(id, time.nowMs));
    const among = banned.length === 0 || dice.chance(LIFTS_OF_ANY) ? keys : banned;
    this.#onAny(({ life }, key) => {
      if (!life) return;
      const lift = life.storage.keys.lift(key.id, life.clock.now().unix, OPERATOR).then((wasMade) => {
        this.#world.note(`${key.id}: ${wasMade ? 'the ban was lifted' : 'there was no ban to lift'}`);
      });
      this.#forgive(life, key, { isReset: false, work: lift });
    }, among);
  }

  #reset(life: Life, key: WorldKey): void {
    const { limits, time, redis, dice } = this.#world;
    const window = dice.pick(['minute', 'day', 'both'] as const) ?? 'both';
    // A request whose counts are being read may know of the reset by them, or not.
    if (!redis && !limits.hasMet(life, key.id)) return;
    const { failOvers } = this.#world;
    const work = life.storage.keys.reset(key.id, window, OPERATOR).then((changed) => {
      if (changed && failOvers === this.#world.failOvers)
        key.model.reset(changed.resets, { doneMs: time.nowMs, madeBy: life });
      this.#world.note(`${key.id}: the ${window} was reset`);
    });
    if (window === 'day') work.catch(expected(this.#world));
    else this.#forgive(life, key, { isReset: true, work });
  }

  /** Refusals of a key are forgotten, by a lift of its bans or by a reset. */
  #forgive(life: Life, key: WorldKey, { isReset, work }: { isReset: boolean; work: Promise<void> }): void {
    const { limits, time, failOvers } = this.#world;
    const end = limits.bans.beginLift(key.id, time.nowMs, isReset);
    limits.lifted(key.id, time.nowMs);
    const callOff = this.#world.onDeath(life, () => end({ nowMs: time.nowMs, isDone: false }));
    work
      .then(() => {
        limits.lifted(key.id, time.nowMs);
        end({ nowMs: time.nowMs, isDone: this.#world.failOvers === failOvers });
      })
      .catch((error) => {
        expected(this.#world)(error);
        end({ nowMs: time.nowMs, isDone: false });
      })
      .finally(callOff);
  }

  #edit(change: (life: Life, id: number) => Promise<unknown>): void {
    this.#onAny(({ life }) => {
      const id = this.#dice.pick(this.#world.catalog.untouched);
      if (!life || id === undefined) return;
      this.#world.catalog.edit(id);
      change(life, id).catch(expected(this.#world));
    });
  }

  #import(): void {
    this.#onAny(({ life }) => {
      const categories = Array.from({ length: this.#dice.between(1, 5) }, () => ({ name: this.#world.newName() }));
      life?.storage.categories.import(categories, OPERATOR).catch(expected(this.#world));
    });
  }

  /** A client creates, stocks or orders a pet, or cancels an order. */
  #shop({ storage: { pets, orders } }: Life, { id: keyId }: WorldKey): void {
    const { dice, catalog } = this.#world;
    const [petId, orderId, quantity] = [dice.between(1, 3), dice.between(1, 9), dice.between(1, 5)];
    const pet = { name: this.#world.newName(), categoryId: catalog.untouched[0] ?? 0, status: 'available' } as const;
    const work = dice.pick([
      () => pets.insert(pet, { keyId }),
      () => pets.setQuantity(petId, quantity, { keyId }),
      () => orders.insert({ petId, quantity: 1 }, { keyId }),
      () => orders.cancel(orderId, { keyId }),
    ]);
    work?.().catch(expected(this.#world, REFUSED));
  }

  #fillDisk(): void {
    const { database, time } = this.#world;
    const ms = this.#dice.between(100, 3_000);
    database.isFull = true;
    this.#world.roughen(ms + 3_000);
    time.after(ms, () => {
      database.isFull = false;
    });
  }

  /** The standby was cut off from the database some time before. */
  #failOver(): void {
    const { time, dice } = this.#world;
    if (this.#isFailingOver || !this.#world.cutStandbyOff()) return;
    this.#isFailingOver = true;
    time.after(dice.between(5, LAG_MS_MAX), () => {
      this.#isFailingOver = false;
      this.#world.note('the database fails over');
      this.#world.failOver();
    });
  }

  #restartRedis(): void {
    const { redis, time } = this.#world;
    if (!redis?.isUp) return;
    const data = this.#dice.pickWeighted({ all: 1, old: 2, none: 2 });
    this.#world.note(`Redis restarts with ${data}`);
    redis.stop();
    time.after(this.#dice.between(5, 3_000), () => {
      redis.start(data);
      if (data !== 'all') this.#world.loseRedis();
    });
  }

  /** With a server that had the time to notice a step of its clock, and to move what it stored along. */
  #onSettled(work: (server: Server) => void): void {
    const { time, roughUntilMs } = this.#world;
    const isSettled = this.#steppedMs === 0 || time.nowMs - Math.max(this.#steppedMs, roughUntilMs) > MOVED_MS;
    if (isSettled) this.#onAny(work);
  }

  #stepClock(): void {
    const server = this.#anyServer;
    const { time, limits, hasSteps, redis } = this.#world;
    if (!hasSteps) return;
    if (server.state !== 'up' && server.state !== 'down') return;
    const seconds = this.#dice.between(-7_200, 7_200);
    this.#world.note(`${server.name}: the clock is stepped by ${seconds} s`);
    server.skewMs += seconds * 1_000;
    this.#steppedMs = time.nowMs;
    if (!redis) limits.shift(server.life, time.nowMs);
  }

  /** To where something ends, or a second beside it. */
  #leap(): void {
    const { time, limits, servers } = this.#world;
    if (servers.some(({ state }) => state === 'starting' || state === 'stopping')) return;
    const seconds = time.nowMs / 1_000;
    const bans = limits.bans.all.flatMap(({ endsMs }) => [0, 0, 86_400].map((later) => endsMs / 1_000 + later));
    const midnight = Math.ceil(seconds / 86_400) * 86_400;
    const expiry = (this.#dice.pick(this.#retriable)?.sentMs ?? 0) / 1_000 + KEPT_SECONDS;
    const later = [...bans, expiry].filter((end) => end > seconds);
    const ends = [seconds + 60, seconds + 60, seconds + 30, midnight, ...later];
    const to = Math.ceil((this.#dice.pick(ends) ?? seconds) + this.#dice.between(-1, 1));
    const ms = Math.max(0, to * 1_000 - time.nowMs);
    this.#world.note(`${Math.round(ms / 1_000)} s pass at once`);
    time.leap(ms);
    this.#world.roughen(0);
  }
}

/** Fails the simulation on a defect; that storage fails is expected. */
function expected(world: World, codes: readonly string[] = STORAGE_UNAVAILABLE): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof CatalogError) || !codes.includes(error.code)) world.fail(error);
  };
}

import type { Dice } from './dice.ts';
import { Life, type Observer, type Place } from './life.ts';
import { Weather } from './weather.ts';

/** Both above the deadlines that they may miss: of a lock, and of an answer by Redis. */
const SLOW_DATABASE_MS = 400;
const SLOW_REDIS_MS = 120;
const STOP_MS_MAX = 10_000;

/** A place where one instance runs at a time: its ways to the servers, its system clock, and its lives. */
export class Server {
  readonly name: string;
  readonly ways: { readonly database: Weather; readonly redis: Weather };
  /** How far its system clock is ahead of true time; whole seconds. */
  skewMs = 0;
  life: Life | undefined;
  state: 'down' | 'starting' | 'up' | 'stopping' = 'down';
  readonly #place: Place;
  readonly #observer: Observer;

  constructor(name: string, place: Place, { dice, observer }: { dice: Dice; observer: Observer }) {
    this.name = name;
    this.#place = place;
    this.#observer = observer;
    this.ways = {
      database: new Weather(place.time, dice, SLOW_DATABASE_MS),
      redis: new Weather(place.time, dice, SLOW_REDIS_MS),
    };
  }

  /** Starts an instance. If the database cannot be read it ends again, as a service would. */
  async start(): Promise<void> {
    const life = new Life(this.#place, { ...this.ways, skewMs: () => this.skewMs }, this.#observer);
    this.life = life;
    this.state = 'starting';
    try {
      await life.start();
      this.state = 'up';
    } catch {
      this.kill();
    }
  }

  /** Stops gracefully: takes no more requests, and lets those under way end first. */
  async stop(isBusy: () => boolean): Promise<void> {
    const { life } = this;
    if (!life) return;
    this.state = 'stopping';
    const { time } = this.#place;
    const startedMs = time.nowMs;
    while (isBusy() && time.nowMs - startedMs < STOP_MS_MAX) await time.wait(20);
    await life[Symbol.asyncDispose]();
    if (this.life === life) this.#end();
  }

  kill(): void {
    this.life?.kill();
    this.#end();
  }

  #end(): void {
    this.life = undefined;
    this.state = 'down';
  }
}

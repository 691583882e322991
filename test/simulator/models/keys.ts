import type { Limits } from '../../../src/catalog/plan.ts';
import type { Resets } from '../../../src/catalog/window-counts.ts';
import { promise } from './promise.ts';

/** A change is followed within a second, and the reads that follow it take some milliseconds. */
const FOLLOWED_MS = 1_000 + 300;

/** What a key was from some moment on. */
export interface KeyVersion {
  readonly limits: Limits;
  readonly isRevoked: boolean;
}

interface Done {
  readonly doneMs: number;
  /** The process on which it was made, which knows it at once. */
  readonly madeBy: object | undefined;
}

interface Dated extends KeyVersion, Done {
  /** When the operator began the change. */
  readonly begunMs: number;
}

export interface Authenticated {
  readonly life: object;
  readonly askedMs: number;
  readonly answeredMs: number;
  /** When the process could not follow changes for the last time. */
  readonly roughUntilMs: number;
  /** Undefined for a 401. */
  readonly limits: Limits | undefined;
  readonly resets: Resets | undefined;
}

/** A key's plan, end and resets, as its operators made them. */
export class KeyModel {
  readonly #id: string;
  readonly #versions: Dated[] = [];
  #resets: (Resets & Done)[] = [];
  #attempted: KeyVersion | undefined;
  #isLost = false;

  constructor(id: string, limits: Limits) {
    this.#id = id;
    this.#versions.push({ limits, isRevoked: false, begunMs: 0, doneMs: 0, madeBy: undefined });
  }

  get current(): KeyVersion {
    return this.#versions.at(-1) as KeyVersion;
  }

  /** The limits that it ever had, or may have. */
  get limits(): Limits[] {
    const versions: KeyVersion[] = this.#attempted ? [...this.#versions, this.#attempted] : this.#versions;
    return versions.map(({ limits }) => limits);
  }

  /** An operator begins a change, which may be in force from now on. */
  attempt(version: KeyVersion): void {
    // It is not known whether the last change was made, if its operator was not told.
    const last = this.#attempted;
    if (last) this.#versions.push({ ...last, begunMs: 0, doneMs: Number.POSITIVE_INFINITY, madeBy: undefined });
    this.#attempted = version;
  }

  /** The key is like this now; no change of it is under way. */
  change(version: KeyVersion, when: Pick<Dated, 'begunMs' | 'doneMs' | 'madeBy'>): void {
    this.#attempted = undefined;
    const { limits, isRevoked } = this.current;
    const isSame = JSON.stringify(limits) === JSON.stringify(version.limits) && isRevoked === version.isRevoked;
    if (!isSame) this.#versions.push({ ...version, ...when });
  }

  /** Its windows were reset: every process goes by that, or by a later one, as soon as it follows. */
  reset(resets: Resets, done: Done): void {
    this.#resets.push({ ...resets, ...done });
  }

  /** The database went back to this version; undefined if it does not have the key any more. */
  goBack(version: KeyVersion | undefined, atMs: number): void {
    if (version) this.#versions.push({ ...version, begunMs: 0, doneMs: atMs, madeBy: undefined });
    else this.#isLost = true;
    this.#resets = [];
  }

  /** Throws if a request was let in, or kept out, by a version of the key that is no longer, or not yet, in force. */
  check({ life, askedMs, answeredMs, roughUntilMs, limits, resets }: Authenticated): void {
    if (this.#isLost) return;
    const isKnown = ({ doneMs, madeBy }: Done) =>
      askedMs > doneMs && (madeBy === life || askedMs >= Math.max(doneMs, roughUntilMs) + FOLLOWED_MS);
    const last = this.#resets.findLast(isKnown);
    const isReset = !last || !resets || (resets.minute >= last.minute && resets.day >= last.day);
    promise(isReset, () => `${this.#id}: let in without the reset of ${JSON.stringify(last)}`);
    const first = Math.max(0, this.#versions.findLastIndex(isKnown));
    const begun = this.#versions.slice(first).filter(({ begunMs }) => begunMs <= answeredMs);
    const inForce: KeyVersion[] = this.#attempted ? [...begun, this.#attempted] : begun;
    const fits = inForce.some((version) =>
      limits ? !version.isRevoked && JSON.stringify(version.limits) === JSON.stringify(limits) : version.isRevoked,
    );
    promise(fits, () => {
      const asked = limits ? `let in with ${limits.minute} and ${limits.day}` : 'kept out';
      return `${this.#id}: ${asked}, although it is ${JSON.stringify(inForce.map(({ limits, isRevoked }) => (isRevoked ? 'revoked' : limits)))}`;
    });
  }
}

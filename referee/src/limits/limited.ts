import { type Answer, type Exchange, Skipped, type Wanted } from './exchange.ts';

/** What an answer says of a limit; a member is undefined if it is missing or not in its form. */
export interface LimitState {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Unix seconds. */
  readonly reset: number | undefined;
}

/** How answers tell of a limit. */
export interface Reading {
  /** The name of each header in reports; empty for one that does not exist. */
  readonly names: Readonly<Record<keyof LimitState, string>>;
  read(answer: Answer): LimitState;
  isRefusal(answer: Answer): boolean;
}

/** A limit that is judged: who is limited, which requests count, and how its state is read. */
export interface Limited extends Reading {
  /** The request that spends the limit. */
  readonly first: Wanted;
  /** Another request of the same caller, which counts in the same limit; undefined if none is known. */
  readonly second?: Wanted | undefined;
  /** A request of another caller, with a limit of its own; undefined if none is known. */
  readonly stranger?: Wanted | undefined;
  /** Answers to `first` before the spending, in order. */
  readonly begun: readonly Exchange[];
  /** True if `begun` or, if it is empty, the spending has the first request of a window. */
  readonly isFresh: boolean;
  /** A larger limit is not spent. */
  readonly limitMax: number;
  /** The time in which `Limit` requests come back, as an option or else a header tells, and as the header alone does. */
  readonly windowSeconds: number | undefined;
  readonly toldSeconds: number | undefined;
  /** Other families of headers in the same answers. */
  readonly others: readonly (Pick<Reading, 'read'> & { readonly name: string })[];
  /** Seconds by which the moment of one window may differ from answer to answer. */
  readonly resetTolerance: number;
}

/** The limit of a trial. Throws `Skipped` while it is not known. */
export function limitedOf({ limited }: { readonly limited: Limited | undefined }): Limited {
  if (!limited) throw new Skipped('the limit is not known');
  return limited;
}

/** True if a number can be a Unix time in seconds: from 2001 to 2286. */
export function isUnixTime(seconds: number): boolean {
  return seconds >= 1e9 && seconds < 1e10;
}

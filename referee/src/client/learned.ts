import { type Note, TOLERANCE_MS } from './note.ts';

/** A longer pause may be one that the client means, which its retries need not add to their waits. */
const PAUSE_MS_MAX = 25;
const PAUSES_MIN = 3;
/** So long it may take until a client that left is seen to have left. */
const LEAVING_MS_MAX = 100;

/** A kind of request, and how often it came. */
export interface KindCount {
  readonly kind: string;
  readonly count: number;
  /** True if its answers were JSON, which may have unknown members. */
  readonly hasJson: boolean;
}

/** A client as it is when all is well. */
export interface Learned {
  readonly calls: readonly KindCount[];
  /** How often the client sends one and the same call of a kind. */
  expected(request: Pick<Note, 'call' | 'kind'>): number;
  /** How many writes of a kind are confirmed; undefined where nothing was learned. */
  confirmed(kind: string): number | undefined;
  /** The pause that the client makes of itself between an answer and its next request. */
  readonly pauseMs: number;
  /** The longest of them, up to what a busy machine may take. */
  readonly pauseMsMax: number;
  /** True if answers told when their limit resets, so that a client can go by it. */
  readonly hasReset: boolean;
  /** True if its requests overlap: what one worker was told, another one may not know. */
  readonly isConcurrent: boolean;
  readonly remarks: readonly string[];
}

/** What is taken for granted of a client of which nothing was learned. */
export const UNKNOWN_CLIENT: Learned = {
  calls: [],
  expected: () => 1,
  confirmed: () => undefined,
  pauseMs: 0,
  pauseMsMax: 0,
  hasReset: false,
  isConcurrent: false,
  remarks: [],
};

/** Learns from runs without a fault. */
export function learnedFrom(runs: readonly (readonly Note[])[]): Learned {
  const ofKind = (kind: string) => runs.map((notes) => notes.filter((note) => note.kind === kind));
  const byCall = new Map<string, number>();
  const byKind = new Map<string, number>();
  for (const notes of runs) {
    for (const [call, same] of Map.groupBy(notes, (note) => note.call)) {
      byCall.set(call, Math.max(byCall.get(call) ?? 0, same.length));
      const { kind = '' } = same[0] ?? {};
      byKind.set(kind, Math.max(byKind.get(kind) ?? 0, same.length));
    }
  }
  const calls = kindsOf(runs);
  const differing = calls.flatMap(({ kind }) => {
    const counts = ofKind(kind).map(({ length }) => length);
    return new Set(counts).size > 1 ? [`${kind} came ${counts.join(' times, then ')} times without a fault`] : [];
  });
  return {
    calls,
    // A body or path that is made anew in each run is as often the same as others of its kind.
    expected: ({ call, kind }) => byCall.get(call) ?? byKind.get(kind) ?? 1,
    confirmed: (kind) => Math.min(...ofKind(kind).map((notes) => notes.filter(isConfirmed).length)),
    pauseMs: pauseOf(runs),
    pauseMsMax: Math.max(...runs.map(longestPauseOf)),
    hasReset: runs.flat().some(({ hasReset }) => hasReset),
    isConcurrent: runs.some(areOverlapping),
    remarks: differing,
  };
}

/** The kinds of requests that came, and how often at most. */
export function kindsOf(runs: readonly (readonly Note[])[]): KindCount[] {
  const kinds = [...new Set(runs.flat().map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const same = runs.map((notes) => notes.filter((note) => note.kind === kind));
    const count = Math.max(...same.map(({ length }) => length));
    return { kind, count, hasJson: same.flat().some(({ hasJson }) => hasJson) };
  });
}

/** True for an answer that confirms a write: its head is enough. */
export function isConfirmed({ status }: Note): boolean {
  return status !== null && status < 400;
}

/**
 * True if requests were under way at the same time. The first request of a connection counts from its opening; later
 * ones do not, since a pool keeps idle connections. A client that leaves may come back before that is seen.
 */
export function areOverlapping(notes: readonly Note[]): boolean {
  const ordered = notes.toSorted((one, other) => one.at - other.at);
  const used = new Set<number>();
  let latest: Note | undefined;
  for (const note of ordered) {
    const beganAt = used.has(note.connection) ? note.at : Math.min(note.at, note.connectedAt);
    used.add(note.connection);
    const earlyMs = (latest?.answeredAt ?? beganAt) - beganAt;
    if (earlyMs > (latest?.isDelivered ? 0 : LEAVING_MS_MAX)) return true;
    if (!latest || note.answeredAt > latest.answeredAt) latest = note;
  }
  return false;
}

/** The longest pause after a good answer, up to what a busy machine may take. */
export function longestPauseOf(notes: readonly Note[]): number {
  return Math.min(TOLERANCE_MS, Math.max(0, ...pausesOf(notes)));
}

function pausesOf(notes: readonly Note[]): number[] {
  return notes.slice(1).flatMap(({ at }, index) => {
    const before = notes[index];
    return before && isConfirmed(before) ? [Math.max(0, at - before.answeredAt)] : [];
  });
}

/** The usual pause; a few may be meant, as before a poll. */
function pauseOf(runs: readonly (readonly Note[])[]): number {
  const pauses = runs.flatMap(pausesOf);
  const median = pauses.sort((one, other) => one - other)[Math.floor(pauses.length / 2)] ?? 0;
  return pauses.length < PAUSES_MIN ? 0 : Math.min(PAUSE_MS_MAX, median);
}

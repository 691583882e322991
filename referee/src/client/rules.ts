import type { Scope } from '../proxy/follower.ts';
import { type Chain, chainsOf, type Group, ownWaitsOf, type Request, requestsOf } from './calls.ts';
import { areOverlapping, isConfirmed, type Learned, longestPauseOf } from './learned.ts';
import { nameOf, type Play, TOLERANCE_MS } from './note.ts';

/** Fewer retries show nothing of a backoff with jitter. */
const RETRIES_JUDGED_MIN = 3;
/** Any backoff exceeds this share of waits that are doubled each time, up to the longest. */
const REFERENCE_WAIT_MS = 100;
const REFERENCE_WAIT_MS_MAX = 1_000;
const REFERENCE_SHARE = 1 / 20;
/** The time in which a repetition follows from what was answered. */
const REACTION_MS = 1_000;
/** Repeating these unchanged cannot succeed; a 404 may be polled. */
const NOT_REPEATED: ReadonlySet<number | null> = new Set([400, 401, 403, 409, 410, 413, 415, 422]);
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const CREATES: ReadonlySet<string> = new Set(['POST', 'PATCH']);
/** Operations that read: queries of GraphQL, and those of AWS that are named so. */
const READS = /^POST \S+ (?:(query|subscription)( |$)|[\w.]+\.(Batch)?(Get|List|Describe|Query|Scan|Search|Lookup))/;
/** Steps that a single retry cures, or a few. */
const CURABLE =
  /^(limit|limit-date|limit-ms|limit-bare|limit-reset|unavailable|unknown|lost|cut|reset|error|slow|grease|ok)(:|@|$)/;
const TRIES_MAX = 10;
/** What a timer of a client that does one thing after the other may be early by, and a socket of it late. */
const TIMER_MS = 2;

/** What an API has as its custom, and how strictly a client is judged. */
export interface Customs {
  /** `METHOD /path` of POSTs that only read. */
  readonly safe: readonly string[];
  /** The requests that share a limit; undefined: those of the same credentials, unless requests overlap. */
  readonly scope: Scope | undefined;
  /** Tries of one call, the first included. */
  readonly triesMax: number;
  /** The milliseconds by which a request may be early. */
  readonly toleranceMs: number;
}

export const USUAL_CUSTOMS: Customs = { safe: [], scope: undefined, triesMax: TRIES_MAX, toleranceMs: TOLERANCE_MS };

const LENIENT = 'Requests overlapped, so waits was judged by the tries of each call; --scope key judges all requests';
export const REPEATED = 'a test runner repeated its requests';
const MADE_ANEW = 'each try has a path or body of its own, so that none is known for a repetition';
const OF_TRIES: readonly RuleName[] = ['backs-off', 'stops', 'retries-safely', 'once', 'gives-up', 'recovers'];
const UNAWARE = 'no request that came after a refusal could know of it; --scope key says that all share one limit';

/** Every rule, in the order of the table. */
export const RULES = {
  waits: {
    asks: 'No request comes before a Retry-After is over',
    fix: 'after a 429 or 503 wait as long as its Retry-After says, in seconds or as a date, before any other request',
  },
  'backs-off': {
    asks: 'Retries without a Retry-After wait, the longer together the more there are',
    fix: 'wait before each retry, and longer each time, such as 100 ms, 200 ms, 400 ms, with some randomness',
  },
  stops: {
    asks: 'A request that cannot succeed is not repeated unchanged at once',
    fix: 'report an answer of 400, 401, 403, 409, 410, 413, 415 or 422, and do not repeat the request',
  },
  'retries-safely': {
    asks: 'A repeated POST or PATCH has the same idempotency key and body, or a PATCH its If-Match',
    fix: 'send one Idempotency-Key with all tries of a create, and the same body',
  },
  once: {
    asks: 'One create is not sent twice under two keys, or with none',
    fix: 'make one Idempotency-Key for each create, before its first try, and send it with every try',
  },
  'gives-up': {
    asks: `No call is tried more than ${TRIES_MAX} times, or waited for without end`,
    fix: `report the error after at most ${TRIES_MAX} tries, and set a time-out for each request`,
  },
  tolerates: {
    asks: 'The client goes on after an answer with unknown members and headers',
    fix: 'ignore members and headers that you do not know, and compare the known ones, never a whole answer',
  },
  tells: {
    asks: 'A write that was never confirmed is not reported as done',
    fix: 'let the command fail when the last answer to a write was a failure, or none came',
  },
  recovers: {
    asks: 'A call that a retry would have cured is retried',
    fix: 'repeat a call after 429, 500, 503 or a lost answer, as the other rules ask',
  },
} as const satisfies Readonly<Record<string, { asks: string; fix: string }>>;

export type RuleName = keyof typeof RULES;

export const RULE_NAMES = Object.keys(RULES) as RuleName[];

/** A request that breaks a rule, by its number from 1, and in which way. */
export interface Finding {
  readonly rule: RuleName;
  readonly kind: string;
  readonly number: number;
  readonly text: string;
}

/** The rules that a play put to the test, by kind of request, and what broke them. */
export interface Judged {
  /** By cell: what was played, where a rule has parts. */
  readonly tested: ReadonlyMap<string, ReadonlySet<string>>;
  /** By cell: why what was played tested nothing. */
  readonly untested: ReadonlyMap<string, string>;
  readonly findings: readonly Finding[];
  readonly remarks: readonly string[];
  /** The kind with which a test begins that its runner repeats: its repetitions are not the client's. */
  readonly repeated?: string;
}

/** The name of a cell of the table. */
export function cellOf(kind: string, rule: RuleName): string {
  return `${rule} ${kind}`;
}

/** True for a kind that changes something; other POSTs that only read are a custom of the API. */
export function isWrite(kind: string, { safe }: Customs): boolean {
  return WRITES.has(methodOf(kind)) && !READS.test(kind) && !safe.includes(kind);
}

/** True for a kind whose repetition needs a key. */
export function isCreate(kind: string, customs: Customs): boolean {
  return CREATES.has(methodOf(kind)) && isWrite(kind, customs);
}

/** Judges a play by every rule. One whose upstream failed proves nothing about the client. */
export function judge(play: Play, learned: Learned, customs: Customs): Judged {
  if (play.failure !== undefined) return { tested: new Map(), untested: new Map(), findings: [], remarks: [] };
  const [failed, again] = rerunIn(requestsOf(play.requests), learned);
  if (!failed || !again) return new Judging(play, learned, customs).judge();
  // The end of the command is that of the later run.
  const { command: _, ...run } = { ...play, requests: play.requests.filter(({ at }) => at < again.at) };
  const { tested, remarks, findings } = new Judging(run, learned, customs).judge();
  const remark = `${named(again)} came again after ${mention(failed)} failed, as if a test runner repeats the test`;
  const isDoubtful = ([cell]: readonly [string, unknown]) => cell.endsWith(` ${failed.kind}`);
  const { doubtful = [], certain } = Object.groupBy(tested, (each) => (isDoubtful(each) ? 'doubtful' : 'certain'));
  const untested = new Map(doubtful.map(([cell]) => [cell, REPEATED]));
  const told = [...remarks, `${remark}; switch its retries off`];
  return { tested: new Map(certain), untested, findings, remarks: told, repeated: again.kind };
}

/** True for a play that is made once more before it counts: a command may fail of itself, as on a busy machine. */
export function isDoubtful(play: Play, learned: Learned, customs: Customs): boolean {
  return judge(play, learned, customs).findings.some(({ rule }) => rule === 'tolerates');
}

/** The failure after which a call that had been answered comes again, and that one: the first of a test that is repeated. */
function rerunIn(requests: readonly Request[], { calls, expected, isConcurrent }: Learned): Request[] {
  const answered = new Map<string, number>();
  let failed: Request | undefined;
  for (const request of calls.length === 0 || isConcurrent ? [] : requests) {
    const count = answered.get(request.call) ?? 0;
    if (failed && failed.call !== request.call && count >= expected(request)) return [failed, request];
    if (isAnswered(request)) answered.set(request.call, count + 1);
    if (!isAnswered(request)) failed = request;
    else if (failed?.call === request.call) failed = undefined;
  }
  return [];
}

class Judging {
  readonly #play: Play;
  readonly #learned: Learned;
  readonly #customs: Customs;
  readonly #requests: readonly Request[];
  readonly #groups: readonly Group[];
  readonly #chains: readonly Chain[];
  readonly #isConcurrent: boolean;
  readonly #tested = new Map<string, Set<string>>();
  readonly #untested = new Map<string, string>();
  #findings: Finding[] = [];

  constructor(play: Play, learned: Learned, customs: Customs) {
    this.#play = play;
    this.#learned = learned;
    this.#customs = customs;
    this.#requests = requestsOf(play.requests);
    this.#groups = [...Map.groupBy(this.#requests, (each) => this.#linkOf(each)).values()].map((requests) => ({
      requests,
      expected: requests[0]?.idempotencyKey != null ? 1 : Math.max(...requests.map((each) => learned.expected(each))),
    }));
    this.#chains = this.#groups.flatMap((group) => chainsOf(group, (last, next) => this.#isInterrupted(last, next)));
    this.#isConcurrent = learned.isConcurrent || areOverlapping(play.requests);
  }

  /** As `linkOf`, but a call that the client makes once is one under whatever keys it comes. */
  #linkOf(request: Request): string {
    const link = linkOf(request);
    const first = this.#requests.find((each) => linkOf(each) === link) ?? request;
    return this.#learned.calls.length > 0 && this.#learned.expected(first) === 1 ? first.call : link;
  }

  /** A kind of more calls than the client makes when all is well: tries of one, whose paths or bodies are made anew. */
  #doubtTries(): void {
    for (const { kind, count } of this.#learned.calls) {
      const own = this.#groups.filter(({ requests: [first] }) => first?.kind === kind);
      if (own.length <= count || own.every(({ requests }) => requests.at(-1)?.isFinal)) continue;
      for (const rule of OF_TRIES)
        if (this.#tested.delete(cellOf(kind, rule))) this.#untested.set(cellOf(kind, rule), MADE_ANEW);
      this.#findings = this.#findings.filter((each) => each.kind !== kind || each.rule !== 'recovers');
    }
  }

  /** True if nothing was learned, and another call came between: a loop repeats its calls without a failure too. */
  #isInterrupted(last: Request, next: Request): boolean {
    if (this.#learned.calls.length > 0) return false;
    return this.#requests.some((each) => each.at >= last.answeredAt && each.at < next.at && each.call !== last.call);
  }

  judge(): Judged {
    this.#waits();
    for (const chain of this.#chains) {
      this.#backsOff(chain);
      this.#givesUp(chain);
      this.#recovers(chain);
    }
    this.#stops();
    this.#repeatsSafely();
    this.#tolerates();
    this.#tells();
    this.#doubtTries();
    const isOfTries = this.#isConcurrent && this.#customs.scope === undefined;
    const isLenient = isOfTries && this.#requests.some(({ isWaitAsked }) => isWaitAsked);
    return {
      tested: this.#tested,
      untested: this.#untested,
      findings: this.#findings,
      remarks: isLenient ? [...this.#play.remarks, LENIENT] : this.#play.remarks,
    };
  }

  #test(rule: RuleName, { kind }: Request, part?: string): void {
    const parts = this.#tested.get(cellOf(kind, rule)) ?? new Set();
    this.#tested.set(cellOf(kind, rule), part === undefined ? parts : parts.add(part));
  }

  #find(rule: RuleName, { kind, number }: Request, text: string): void {
    this.#findings.push({ rule, kind, number, text });
  }

  #waits(): void {
    const tries = this.#retries();
    for (const asking of this.#requests) {
      if (!asking.isWaitAsked) continue;
      // A program may measure the time until a date by a clock that it read before.
      const isExact = !this.#isConcurrent && Number.isInteger(asking.retryAfter);
      const forgivenMs = isExact ? Math.min(this.#customs.toleranceMs, TIMER_MS) : this.#customs.toleranceMs;
      const endsAt = asking.answeredAt + (asking.retryAfter ?? 0) * 1_000 - forgivenMs;
      const later = this.#requests.filter((each) => each.at > asking.answeredAt);
      const informed = later.filter((each) => each.at >= endsAt || this.#isBoundBy(each, asking, tries));
      if (later.length > 0 && informed.length === 0) {
        this.#untested.set(cellOf(asking.kind, 'waits'), UNAWARE);
        continue;
      }
      this.#test('waits', asking);
      const early = informed.find((each) => each.at < endsAt);
      if (!early) continue;
      const asked = Math.round((asking.retryAfter ?? 0) * 1_000) / 1_000;
      const waited = `${named(early)} came ${ms(early.at - asking.answeredAt)} after ${mention(asking)}`;
      this.#find('waits', asking, `${waited}, a ${asking.status} that asked to wait ${asked} s`);
    }
  }

  /** The request that each try repeats. */
  #retries(): ReadonlyMap<Request, Request | undefined> {
    const pairs = ({ tries }: Chain) => tries.slice(1).map((each, index) => [each, tries[index]] as const);
    return new Map(this.#chains.flatMap(pairs));
  }

  /** True if a request had to know of a refusal, and shares its limit. */
  #isBoundBy(request: Request, asking: Request, retries: ReadonlyMap<Request, Request | undefined>): boolean {
    if (retries.get(request) === asking) return true;
    const { scope } = this.#customs;
    if (this.#isConcurrent && scope === undefined) return false;
    const unawareMs = this.#isConcurrent ? TOLERANCE_MS : TIMER_MS;
    const isKnown = request.at - asking.answeredAt > unawareMs || request.connection === asking.connection;
    if (!isKnown) return false;
    if (scope === 'all') return true;
    return scope === 'route' ? request.kind === asking.kind : request.credentials === asking.credentials;
  }

  #backsOff(chain: Chain): void {
    const waits = ownWaitsOf(chain);
    const last = chain.tries.at(-1);
    if (!last) return;
    // Equal calls of a suite, one after the other, look like tries.
    const retries = waits.length - (chain.calls - 1);
    if (retries < RETRIES_JUDGED_MIN * chain.calls) {
      // A client that gave up before needs no backoff.
      if (!last.isFinal && !last.isWaitAsked && (last.step !== null || last.isEarly)) this.#test('backs-off', last);
      return;
    }
    const longest = waits.toSorted((one, other) => other - one).slice(0, retries);
    const beyond = (pauseMs: number) => longest.reduce((sum, wait) => sum + wait - pauseMs, 0);
    const waited = beyond(this.#learned.pauseMs);
    const least = chain.calls * leastSumOfWaits(Math.floor(retries / chain.calls));
    const machineMs = Math.max(this.#learned.pauseMsMax, longestPauseOf(this.#requests));
    if (waited >= least && beyond(machineMs) < least) {
      const reason = `pauses of ${ms(machineMs)} between other calls explain the waits`;
      this.#untested.set(cellOf(last.kind, 'backs-off'), reason);
      return;
    }
    this.#test('backs-off', last);
    if (waited >= least) return;
    const own = this.#learned.pauseMs >= 1 ? ` beyond the ${ms(this.#learned.pauseMs)} between its other calls` : '';
    const text = `was the last of ${retries} retries, which waited ${ms(Math.max(0, waited))} together${own}`;
    this.#find('backs-off', last, `${named(last)} ${text}; a backoff waits ${ms(least)} at least`);
  }

  #givesUp({ tries, group, calls }: Chain): void {
    const { command } = this.#play;
    const last = tries.at(-1);
    if (!last) return;
    const { triesMax } = this.#customs;
    const most = triesMax * calls;
    const hasStalled = last.step?.startsWith('stall') ?? false;
    if (hasStalled) this.#test('gives-up', last, 'stall');
    if (tries.length > most || (!last.isFinal && !hasStalled)) this.#test('gives-up', last, 'failures');
    // Which of equal calls that overlap is tried cannot be told.
    const isTold = !this.#isConcurrent || group.requests.length > triesMax * group.expected;
    const beyond = isTold ? tries[most] : undefined;
    if (beyond) this.#find('gives-up', last, `${named(beyond)} is try ${most + 1} of ${tries.length} of its call`);
    if (hasStalled && command?.timedOut) this.#find('gives-up', last, `${named(last)} was waited for without end`);
  }

  #recovers({ tries, calls }: Chain): void {
    const failed = tries.find(({ isFinal }) => !isFinal);
    const last = tries.at(-1);
    if (!failed || !last || !tries.every(({ step, isEarly }) => isEarly || step === null || CURABLE.test(step))) return;
    const isEqualCall = calls > 1 && tries.length <= calls;
    if (isEqualCall || tries.filter(({ isFinal }) => !isFinal).length > RETRIES_JUDGED_MIN) return;
    this.#test('recovers', failed);
    if (last.isFinal) return;
    this.#find('recovers', failed, `${named(failed)} failed, and was not repeated until it succeeded`);
  }

  #stops(): void {
    for (const requests of Map.groupBy(this.#requests, ({ call }) => call).values()) {
      const surplus = this.#surplusOf(requests);
      for (const refused of requests) {
        if (!refused.isDelivered || !refused.isFinal || !NOT_REPEATED.has(refused.status)) continue;
        this.#test('stops', refused, `${refused.status}`);
        const next = surplus.find((each) => each !== refused && isKnownTo(refused, each));
        if (!next || next.at - refused.answeredAt >= REACTION_MS) continue;
        // Only these another credential cures; who signs each request has one for each.
        if ((refused.status === 401 || refused.status === 403) && next.credentials !== refused.credentials) continue;
        // Without learning only what follows at once is taken for a repetition: a suite asks the same thing twice.
        const following = this.#requests.find((each) => each !== refused && isKnownTo(refused, each));
        if (this.#learned.calls.length === 0 && following?.call !== refused.call) continue;
        this.#find('stops', refused, `${named(next)} repeats ${mention(refused)}, a ${refused.status}`);
      }
    }
  }

  /** Judges `retries-safely` and `once`: who breaks `once` breaks both, and only it is shown. */
  #repeatsSafely(): void {
    const creates = this.#requests.filter(({ kind }) => isCreate(kind, this.#customs));
    for (const request of creates.filter(({ isUnknown }) => isUnknown)) {
      this.#test('retries-safely', request);
      if (request.isDone) this.#test('once', request);
    }
    for (const same of Map.groupBy(creates, ({ call }) => call).values()) this.#judgeIdentities(same, creates);
    for (const same of Map.groupBy(creates, linkOf).values()) {
      const [first, ...later] = same.filter(({ body }) => body !== null);
      const other = first?.idempotencyKey == null ? undefined : later.find(({ body }) => body !== first.body);
      const before = other && same.findLast((each) => isKnownTo(each, other) && each.isUnknown);
      if (!other || !before) continue;
      const text = `repeats ${mention(before)} with the same key, and another body`;
      this.#find('retries-safely', before, `${named(other)} ${text}`);
    }
  }

  /** One call that is sent under more keys, or more often without one, than the client makes of it is sent twice. */
  #judgeIdentities(same: readonly Request[], creates: readonly Request[]): void {
    const [first] = same;
    if (!first) return;
    const expected = this.#learned.expected(first);
    const firstOf = (key: string) => same.find(({ idempotencyKey }) => idempotencyKey === key);
    const identities = same.filter((each) => each.idempotencyKey === null || firstOf(each.idempotencyKey) === each);
    for (const repeat of identities.slice(expected)) {
      if (repeat.method === 'PATCH' && repeat.isConditional) continue;
      const before = same.findLast((each) => each !== repeat && isKnownTo(each, repeat) && each.isUnknown);
      if (!before || isRepeatedLater(before, creates)) continue;
      const how = repeat.idempotencyKey === null ? 'without an idempotency key' : 'under another idempotency key';
      const ofRepeat = same.filter(
        (each) => each === repeat || (repeat.idempotencyKey !== null && each.idempotencyKey === repeat.idempotencyKey),
      );
      const hasDoubled = before.isDone && ofRepeat.some(({ isDone }) => isDone);
      const text = `${named(repeat)} repeats ${mention(before)} ${how}, after ${endOf(before)}`;
      // One fault is shown once.
      if (hasDoubled) this.#tested.delete(cellOf(before.kind, 'retries-safely'));
      if (hasDoubled) this.#find('once', before, text);
      else this.#find('retries-safely', before, text);
    }
  }

  #tolerates(): void {
    const { command } = this.#play;
    if (command?.timedOut) return;
    const isPlain = ({ step }: Request) => step === null || /^ok(@|$)/.test(step);
    const isGreased = ({ step }: Request) => step?.startsWith('grease') ?? false;
    const isOnlyGrease = this.#requests.every((each) => each.isDelivered && (isGreased(each) || isPlain(each)));
    for (const greased of this.#requests.filter((each) => each.isDelivered && isGreased(each))) {
      const isLast = greased === this.#requests.at(-1);
      const repeat = this.#repeat(greased);
      if ((isLast && command === undefined) || (repeat && this.#learned.calls.length === 0)) continue;
      this.#test('tolerates', greased);
      if (command && command.exit !== 0 && (isOnlyGrease || isLast)) {
        const text = 'had an answer with unknown members, and the command failed';
        this.#find('tolerates', greased, `${named(greased)} ${text}`);
      } else if (repeat) {
        const text = `repeats ${mention(greased)}, whose answer had unknown members`;
        this.#find('tolerates', greased, `${named(repeat)} ${text}`);
      }
    }
  }

  /** The request that repeats one at once, more often than the client sends it when all is well. */
  #repeat(request: Request): Request | undefined {
    const same = this.#requests.filter(({ call }) => call === request.call);
    const repeat = this.#surplusOf(same).find((each) => each !== request && isKnownTo(request, each));
    return repeat && repeat.at - request.answeredAt < REACTION_MS ? repeat : undefined;
  }

  /** The requests of a call that are more than the client sends when all is well, and repeat no failure. */
  #surplusOf(same: readonly Request[]): Request[] {
    const expected = Math.max(...same.map((each) => this.#learned.expected(each)));
    return same.filter((request, index) => {
      // That a client left may be seen after its next try.
      const isOver = (each: Request) => !each.isDelivered || isKnownTo(each, request);
      const failures = same.slice(0, index).filter((each) => !each.isFinal && isOver(each));
      return index >= expected + failures.length;
    });
  }

  #tells(): void {
    const { command } = this.#play;
    if (!command || command.timedOut) return;
    for (const [kind, all] of Map.groupBy(this.#requests, (request) => request.kind)) {
      const failed = all.find((request) => !isAnswered(request));
      if (!failed || !isWrite(kind, this.#customs)) continue;
      this.#test('tells', failed);
      const wanted = this.#learned.confirmed(kind) ?? Number.POSITIVE_INFINITY;
      const groups = Map.groupBy(all, linkOf).values();
      const open = [...groups].map((requests) => requests.at(-1)).find((last) => last && !isAnswered(last));
      if (command.exit !== 0 || !open || all.filter(isConfirmed).length >= wanted) continue;
      const text = `was the last try of its call, with ${endOf(open)}, and the command exited with 0`;
      this.#find('tells', open, `${named(open)} ${text}`);
    }
  }
}

/** True for the last answer to a write that needs no report of a failure: its status is enough. */
function isAnswered(request: Request): boolean {
  return (request.isFinal || isConfirmed(request)) && !isRefusedByScript(request);
}

function isRefusedByScript({ step, status }: Request): boolean {
  return (status === 401 && step === null) || /^(revoked|status)/.test(step ?? '');
}

/** Requests with one key and path belong together, as do those of one call. */
function linkOf({ idempotencyKey, method, path, call }: Request): string {
  return idempotencyKey === null ? call : `${idempotencyKey} ${method} ${path}`;
}

/** True if the answer to one request had ended when another one began. */
function isKnownTo(answered: Request, { at }: Request): boolean {
  return answered.answeredAt <= at;
}

/** True if a request was repeated with its own key. */
function isRepeatedLater({ idempotencyKey: key, number }: Request, requests: readonly Request[]): boolean {
  return key !== null && requests.some((each) => each.idempotencyKey === key && each.number > number);
}

function leastSumOfWaits(retries: number): number {
  const waits = Array.from({ length: retries }, (_, retry) => REFERENCE_WAIT_MS * 2 ** retry);
  return waits.reduce((sum, wait) => sum + Math.min(wait, REFERENCE_WAIT_MS_MAX), 0) * REFERENCE_SHARE;
}

function methodOf(kind: string): string {
  return kind.split(' ', 1)[0] ?? '';
}

/** The end of a request that was not answered well, in words. */
function endOf({ status, isDelivered }: Request): string {
  if (status === null) return 'no answer';
  return isDelivered ? `a ${status}` : 'half an answer';
}

function named(request: Request): string {
  return `Request ${placeOf(request)}`;
}

function mention(request: Request): string {
  return `request ${placeOf(request)}`;
}

function placeOf(request: Request): string {
  return `${request.number} (${nameOf(request)})`;
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`;
}

import { printable } from '../report/write.ts';
import { Client } from './client.ts';
import { type Answer, NoAnswer, type Sent, type Shown, Skipped, shown } from './exchange.ts';
import { refusals } from './limit-spending.ts';
import { FIRST_PROBES, nearKeys } from './probes.ts';
import { countsOf } from './report.ts';
import { Broken, type Level, type Report, type Rule, type Verdict } from './rule.ts';
import { AUTHENTICATION } from './rules/authentication.ts';
import { CATEGORIES } from './rules/categories.ts';
import { ERRORS } from './rules/errors.ts';
import { HTTP } from './rules/http.ts';
import { ALL_LIMIT_HEADERS, LIMIT_HEADERS } from './rules/limit-headers.ts';
import { LIMITS } from './rules/limits.ts';
import { Trial, type TrialOptions } from './trial.ts';

const FIRST_ANSWER_MS_MAX = 10_000;
const FIRST_TRIES = 5;
/** Without `full`; the answers to the last requests come within the rest of 30 s. */
const SECONDS_MAX = 26;
const FULL_SECONDS_MAX = 1_200;

const TABLES = [CATEGORIES, AUTHENTICATION, ERRORS, LIMIT_HEADERS, HTTP, LIMITS, ALL_LIMIT_HEADERS];

/** Every rule, by subject: what creates first, what waits last. */
export const RULES: readonly Rule[] = TABLES.flatMap((table) =>
  Object.entries(table).map(([id, rule]) => ({ id, ...rule })),
);

export interface RefereeOptions extends Omit<TrialOptions, 'secondsMax'> {
  /** The base address, `/v1` included. */
  readonly url: URL;
  readonly level: Level;
  /** Judges these rules alone, whatever their level. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  /** Told of each verdict as it is reached, and of the error that it comes from. */
  readonly onVerdict?: (verdict: Verdict, error?: unknown) => void;
}

/** A report, and what kept the referee from judging as it should. */
export interface Judgement {
  readonly report: Report;
  /** A failure of the referee, or of the way to the server; undefined without one. */
  readonly failure: string | undefined;
}

/** No server is there, or none that can be judged. */
export class NoServer extends Error {}

/** The rules that options select. */
export function selected({ level, only = [], skip = [], planLimits }: Partial<RefereeOptions>): Rule[] {
  return RULES.filter(({ id, level: own, needs }) => {
    if (skip.includes(id)) return false;
    if (only.length > 0) return only.includes(id);
    // Where the plan is known, limits.plan judges it; a list of rules has both.
    if (id === 'limits.free-plan' && planLimits?.length) return false;
    return (level === 'ours' || own === 'published') && (needs !== 'plan' || planLimits !== undefined);
  });
}

/** Judges a server by every rule that is selected. Throws `NoServer`. Creates at most 40 categories. */
export async function judge(options: RefereeOptions): Promise<Judgement> {
  const { url, level, limitedKey, only = [], pace } = options;
  const startedAt = pace.now();
  using client = new Client(url);
  const secondsMax = options.isFull ? FULL_SECONDS_MAX : SECONDS_MAX;
  const trial = new Trial(client, { ...options, secondsMax });
  await requireServer(client, url);
  const rules = selected(options);
  await trial.send().catch(() => undefined);
  if (trial.isSlow && only.length === 0) await trial.atOnce([...FIRST_PROBES, ...(limitedKey ? [refusals] : [])]);
  const judging = new Judging(trial, options);
  const verdicts = new Map<string, Verdict>();
  for (const rule of rules.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    verdicts.set(rule.id, await judging.judge(rule));
  }
  const ordered = rules.flatMap(({ id }) => verdicts.get(id) ?? []);
  const report: Report = {
    url: url.href.replace(/\/$/, ''),
    level,
    ...countsOf(ordered),
    durationMs: Math.round((pace.now() - startedAt) * 1000),
    rules: ordered,
  };
  const nothing = report.passed + report.failed === 0 ? 'nothing could be judged' : undefined;
  return { report, failure: judging.failure ?? nothing };
}

/** The published rules come first, in case the time is short, then those of a window that is spent by then. */
function rankOf({ level, place, needs }: Rule): number {
  if (place !== undefined) return place === 'waits' ? 3 : 4;
  if (level === 'published') return 0;
  return needs === 'limited-key' ? 1 : 2;
}

async function requireServer(client: Client, url: URL): Promise<void> {
  const sent: Sent = {
    method: 'GET',
    path: '/categories',
    headers: { 'accept-encoding': 'identity' },
    body: undefined,
  };
  for (let tries = 1; ; tries += 1) {
    try {
      const { status, headers } = await client.send(sent, { timeoutMs: FIRST_ANSWER_MS_MAX });
      const target = headers.get('location');
      if (status > 300 && status < 309 && status !== 304 && target !== undefined) {
        throw new NoServer(`${url.href} redirects to ${printable(target)}; give the address that answers`);
      }
      return;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      const { message, code } = error;
      if (/CERT|ISSUER|SIGNATURE|CHAIN|CRL/.test(code)) {
        const advice = 'NODE_EXTRA_CA_CERTS=FILE names your own authority';
        throw new NoServer(`The certificate of ${url.href} cannot be verified (${code}); ${advice}`);
      }
      if (tries === FIRST_TRIES || code !== 'ECONNRESET') {
        throw new NoServer(`Nothing that speaks HTTP answers at ${url.href}: ${printable(message)}`);
      }
    }
  }
}

/** Makes verdicts of what rules throw. A fault of the transport fails one rule; others that met it are skipped. */
class Judging {
  readonly #trial: Trial;
  readonly #options: RefereeOptions;
  readonly #keys: readonly (readonly [string | undefined, string])[];
  readonly #faults = new Map<NoAnswer, string>();
  /** The reason why it cannot judge as it should. */
  failure: string | undefined;
  #isGone = false;

  constructor(trial: Trial, options: RefereeOptions) {
    this.#trial = trial;
    this.#options = options;
    const { key, limitedKey, otherEnvironmentKey } = options;
    this.#keys = [
      [limitedKey, '$LIMITED_KEY'],
      [otherEnvironmentKey, '$OTHER_ENVIRONMENT_KEY'],
      [key, '$KEY'],
      ...nearKeys(key),
    ];
  }

  async judge(rule: Rule): Promise<Verdict> {
    const [found, error] = await this.#found(rule);
    const { id, level, sentence, source, expected } = rule;
    const about = { id, level, sentence, source, verdict: 'passed', expected, seen: null, reason: null } as const;
    const verdict: Verdict = { ...about, exchanges: [], ...found };
    this.#options.onVerdict?.(verdict, error);
    return verdict;
  }

  async #found(rule: Rule): Promise<[Partial<Verdict>, unknown?]> {
    const missing = missingFor(rule.needs, this.#options);
    if (missing) return [skipped(missing)];
    if (this.#isGone && rule.place !== 'looks-back') return [skipped(this.failure ?? '')];
    try {
      await rule.judge(this.#trial);
      return [{}];
    } catch (error) {
      if (error instanceof Skipped) return [skipped(printable(error.message))];
      if (error instanceof Broken) {
        const exchanges = error.exchanges.map((exchange) => this.#shown(exchange.sent, exchange));
        return [this.#failed(error.message, exchanges), error];
      }
      if (error instanceof NoAnswer) return [await this.#unanswered(rule, error), error];
      this.failure = `the referee failed at ${rule.id}: ${printable(`${error}`)}`;
      return [skipped(this.failure)];
    }
  }

  async #unanswered({ id }: Rule, error: NoAnswer): Promise<Partial<Verdict>> {
    const seen = `${error.message}, to ${error.sent.method} ${error.sent.path}`;
    const cause = this.#faults.get(error);
    if (cause !== undefined) return skipped(`${printable(seen)}; it is the failure of ${cause}`);
    this.#faults.set(error, id);
    try {
      await this.#trial.send();
    } catch (again) {
      if (again instanceof Skipped) return skipped(again.message);
      this.#isGone = true;
      this.failure = `the server no longer answers: ${printable((again as Error).message)}`;
      return skipped(this.failure);
    }
    return this.#failed(seen, [this.#shown(error.sent)]);
  }

  #failed(seen: string, exchanges: readonly Shown[]): Partial<Verdict> {
    return { verdict: 'failed', seen: this.#masked(printable(seen)), exchanges };
  }

  #shown(sent: Sent, answer?: Answer): Shown {
    const { request, response, curl } = shown(sent, answer, (path) => this.#trial.client.addressOf(path));
    return { request: this.#masked(request), response: this.#masked(response), curl: this.#asCommand(curl) };
  }

  #masked(text: string): string {
    return this.#keys.reduce((masked, [key]) => (key ? masked.replaceAll(key, '***') : masked), text);
  }

  /** Names each key by a variable, which the shell replaces outside of the single quotes. */
  #asCommand(curl: string): string {
    return this.#keys.reduce((line, [key, name]) => (key ? line.replaceAll(key, `'"${name}"'`) : line), curl);
  }
}

function skipped(reason: string): Partial<Verdict> {
  return { verdict: 'skipped', reason };
}

function missingFor(needs: Rule['needs'], { limitedKey, otherEnvironmentKey, planLimits, isFull }: RefereeOptions) {
  if (needs === undefined) return undefined;
  if (needs === 'other-environment-key') return otherEnvironmentKey ? undefined : 'no --other-environment-key';
  if (!limitedKey) return 'no --limited-key';
  if (needs === 'plan') return planLimits ? undefined : 'no --plan';
  return needs === 'full' && !isFull ? 'it waits for a window; --full judges it' : undefined;
}

import { Client } from './client.ts';
import { NoAnswer, shown, shownRequest } from './exchange.ts';
import { Broken, type Level, type Report, type Rule, Skipped, type Verdict } from './rule.ts';
import { RULES } from './rules.ts';
import { type Keys, type Pace, Trial } from './trial.ts';

const FIRST_ANSWER_MS_MAX = 10_000;

export interface RefereeOptions extends Keys {
  /** The base address, `/v1` included. */
  readonly url: URL;
  readonly level: Level;
  /** How time passes at the server. */
  readonly pace: Pace;
  /** Whether to wait for windows and bans, about two minutes. */
  readonly isFull: boolean;
  readonly concurrency: number;
  /** Judges this rule alone. */
  readonly only?: string | undefined;
  /** Told of each verdict as it is reached. */
  readonly onVerdict?: (verdict: Verdict) => void;
}

/** No server is there, or none that speaks HTTP. */
export class NoServer extends Error {}

/** Judges a server by every rule of the level. Throws `NoServer`. Creates at most 40 categories. */
export async function judge(options: RefereeOptions): Promise<Report> {
  const { url, level, key, only, onVerdict } = options;
  using client = new Client(url);
  const { limitedKey, otherEnvironmentKey } = options;
  const trial = new Trial(client, { ...options, keys: { key, limitedKey, otherEnvironmentKey } });
  await requireServer(client, url);
  const mask = masking([key, limitedKey, otherEnvironmentKey]);
  const rules: Verdict[] = [];
  for (const rule of RULES) {
    if (only === undefined ? level === 'published' && rule.level === 'ours' : rule.id !== only) continue;
    const verdict = await judgeRule(rule, trial, { options, mask });
    rules.push(verdict);
    onVerdict?.(verdict);
  }
  return { url: url.href.replace(/\/$/, ''), level, rules };
}

async function requireServer(client: Client, url: URL): Promise<void> {
  try {
    await client.send({ method: 'GET', path: '/categories', headers: {}, body: undefined }, FIRST_ANSWER_MS_MAX);
  } catch (error) {
    throw new NoServer(`Nothing that speaks HTTP answers at ${url.href}: ${(error as Error).message}`);
  }
}

async function judgeRule(
  rule: Rule,
  trial: Trial,
  { options, mask }: { options: RefereeOptions; mask: (text: string) => string },
): Promise<Verdict> {
  const { id, level, sentence, expected, needs } = rule;
  const about = { id, level, sentence, verdict: 'failed', expected, seen: null, reason: null } as const;
  const missing = missingFor(needs, options);
  if (missing) return { ...about, verdict: 'skipped', reason: missing };
  try {
    await rule.judge(trial);
    return { ...about, verdict: 'passed' };
  } catch (error) {
    if (error instanceof Skipped) return { ...about, verdict: 'skipped', reason: error.message };
    if (error instanceof Broken) {
      return { ...about, seen: mask([error.message, ...error.exchanges.map(shown)].join('\n')) };
    }
    if (!(error instanceof NoAnswer)) throw error;
    return { ...about, seen: mask([error.message, ...shownRequest(error.sent)].join('\n')) };
  }
}

function missingFor(needs: Rule['needs'], { limitedKey, otherEnvironmentKey, isFull }: RefereeOptions) {
  if (needs === 'other-environment-key') return otherEnvironmentKey ? undefined : 'no --other-environment-key';
  if (needs !== undefined && !limitedKey) return 'no --limited-key';
  return needs === 'full' && !isFull ? 'it waits for a window; --full judges it' : undefined;
}

/** Replaces every key, wherever it stands. */
function masking(keys: readonly (string | undefined)[]): (text: string) => string {
  return (text) => keys.reduce<string>((masked, key) => (key ? masked.replaceAll(key, '***') : masked), text);
}

import { type Answer, dateOf } from './exchange.ts';
import type { LimitState, Reading } from './limited.ts';

/** The headers by which an API tells of its limit. */
export interface Family extends Omit<Reading, 'isRefusal'> {
  /** In words, with the unit of its `Reset`. */
  readonly name: string;
  /** Seconds of the window, if a header tells them. */
  readonly windowSeconds: number | undefined;
  readonly resetTolerance: number;
}

type Unit = 'Unix seconds' | 'Unix milliseconds' | 'seconds from now' | 'dates';

/** Names of the three headers, by prefix; the first that an answer has is the family. */
const PREFIXES = ['X-RateLimit-', 'X-Rate-Limit-', 'RateLimit-'];
const NUMBER = /^\d{1,15}(\.\d+)?$/;

const NONE: Family = {
  name: 'no headers but Retry-After',
  names: { limit: '', remaining: '', reset: '' },
  windowSeconds: undefined,
  resetTolerance: 1,
  read: () => ({ limit: undefined, remaining: undefined, reset: undefined }),
};

/** Finds the families in answers, at least one; `names` are the three headers, if they are known. */
export function familiesOf(answers: readonly Answer[], names?: readonly string[]): [Family, ...Family[]] {
  const candidates = names ? [names] : PREFIXES.map((prefix) => ['Limit', 'Remaining', 'Reset'].map((n) => prefix + n));
  for (const answer of answers) {
    const all = [...candidates.map((each) => threeHeaders(answer, each)), names ? undefined : draft(answer)];
    const [first, ...others] = all.filter((each) => each !== undefined);
    if (first) return [first, ...others];
  }
  return [NONE];
}

function threeHeaders(answer: Answer, found: readonly string[]): Family | undefined {
  if (!found.slice(0, 2).some((name) => answer.headers.has(name.toLowerCase()))) return undefined;
  const textOf = ({ headers }: Answer, name: string) => headers.get(name.toLowerCase());
  // A header that the first answer lacks is none of the family's.
  const [limit = '', remaining = '', told = ''] = found.map((name) => (textOf(answer, name) === undefined ? '' : name));
  const unit = unitOf(textOf(answer, told) ?? '');
  // Seconds from now are no moment without a Date.
  const reset = unit === 'seconds from now' && dateOf(answer) === undefined ? '' : told;
  return {
    name: `${[limit, remaining, reset].filter(Boolean).join(', ')}${unit ? ` in ${unit}` : ''}`,
    names: { limit, remaining, reset },
    windowSeconds: windowIn(answer.headers.get('ratelimit-policy') ?? textOf(answer, limit)),
    resetTolerance: unit === 'Unix seconds' ? 0 : 1,
    read: (each) => ({
      // `100, 100;w=60` of an early draft begins with the limit that applies.
      limit: numberIn(textOf(each, limit)?.split(/[,;]/)[0]),
      remaining: numberIn(textOf(each, remaining)),
      reset: unit && momentIn(textOf(each, reset) ?? '', unit, each),
    }),
  };
}

/** `RateLimit: limit=…, remaining=…, reset=…`, or with `r` and `t` for each policy of `RateLimit-Policy`. */
function draft(answer: Answer): Family | undefined {
  const isOld = /\bremaining=/.test(answer.headers.get('ratelimit') ?? '');
  const isNew = /;\s*r=\d/.test(answer.headers.get('ratelimit') ?? '');
  if (!isOld && !isNew) return undefined;
  return {
    name: isOld ? 'RateLimit with limit, remaining and reset' : 'RateLimit and RateLimit-Policy with r, t and q',
    names: {
      limit: isOld ? 'RateLimit' : 'RateLimit-Policy',
      remaining: 'RateLimit',
      reset: dateOf(answer) === undefined ? '' : 'RateLimit',
    },
    windowSeconds: isOld ? windowIn(answer.headers.get('ratelimit-policy')) : numberIn(leastOf(answer).policy?.w),
    resetTolerance: 1,
    read: (each) => (isOld ? oldDraft(each) : newDraft(each)),
  };
}

function oldDraft(answer: Answer): LimitState {
  const text = answer.headers.get('ratelimit') ?? '';
  const member = (name: string) => numberIn(new RegExp(`\\b${name}=(\\d+)`).exec(text)?.[1]);
  return { limit: member('limit'), remaining: member('remaining'), reset: later(answer, member('reset')) };
}

function newDraft(answer: Answer): LimitState {
  const { least, policy } = leastOf(answer);
  return {
    limit: numberIn(policy?.q),
    remaining: numberIn(least?.r),
    reset: later(answer, numberIn(least?.t)),
  };
}

/** The policy with the fewest requests left: the members of its items in `RateLimit` and `RateLimit-Policy`. */
function leastOf({ headers }: Answer) {
  const itemsOf = (text = '') =>
    text.split(',').map((item) => {
      const [name = '', ...members] = item.split(';').map((part) => part.trim());
      const values: Record<string, string> = Object.fromEntries(members.map((member) => member.split('=')));
      return { name, values };
    });
  const [least] = itemsOf(headers.get('ratelimit'))
    .filter(({ values }) => NUMBER.test(values.r ?? ''))
    .sort((one, other) => Number(one.values.r) - Number(other.values.r));
  const policy = itemsOf(headers.get('ratelimit-policy')).find(({ name }) => name === least?.name);
  return { least: least?.values, policy: policy?.values };
}

function unitOf(text: string): Unit | undefined {
  if (!NUMBER.test(text)) return Number.isNaN(Date.parse(text)) ? undefined : 'dates';
  const number = Number(text);
  if (number >= 1e12) return 'Unix milliseconds';
  return number >= 1e9 ? 'Unix seconds' : 'seconds from now';
}

function momentIn(text: string, unit: Unit, answer: Answer): number | undefined {
  if (unit === 'dates') return Number.isNaN(Date.parse(text)) ? undefined : Date.parse(text) / 1000;
  const number = numberIn(text);
  if (unit === 'seconds from now') return later(answer, number);
  return number === undefined || unit === 'Unix seconds' ? number : number / 1000;
}

function later(answer: Answer, seconds: number | undefined): number | undefined {
  const now = dateOf(answer);
  return seconds === undefined || now === undefined ? undefined : now + seconds;
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && NUMBER.test(text.trim()) ? Number(text) : undefined;
}

/** The window of a policy; which one of several applies is not told. */
function windowIn(policy: string | undefined): number | undefined {
  const [first, ...others] = (policy ?? '').matchAll(/;\s*w=(\d+)/g);
  return others.length > 0 ? undefined : numberIn(first?.[1]);
}

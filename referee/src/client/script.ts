import { Mistake, quote } from '../mistake.ts';
import { NOTES_MAX } from './note.ts';

const STEPS_MAX = NOTES_MAX;
const CHARACTERS_MAX = 4_096;
const DEPTH_MAX = 8;
const DAY_SECONDS = 86_400;

/** The number that a step names after its colon. */
interface Value {
  readonly letter: 'S' | 'N';
  readonly min: number;
  readonly max: number;
}

const SECONDS: Value = { letter: 'S', min: 1, max: DAY_SECONDS };

/** Every step, with the number that it takes. */
const STEPS = {
  ok: undefined,
  limit: SECONDS,
  'limit-date': SECONDS,
  'limit-reset': SECONDS,
  'limit-bare': undefined,
  'limit-ms': { letter: 'N', min: 1, max: DAY_SECONDS * 1_000 },
  quota: SECONDS,
  ban: SECONDS,
  unavailable: SECONDS,
  unknown: undefined,
  lost: undefined,
  cut: undefined,
  reset: undefined,
  error: undefined,
  status: { letter: 'N', min: 400, max: 599 },
  slow: { letter: 'S', min: 1, max: 60 },
  stall: undefined,
  revoked: undefined,
  grease: undefined,
} as const satisfies Readonly<Record<string, Value | undefined>>;

/** The words that a step of a script may begin with. */
export type StepName = keyof typeof STEPS;

/** The requests that a step waits for. */
export interface Aim {
  /** Counts from 1. */
  readonly nth: number;
  readonly method: string;
  /** `*` is one segment; undefined for any path. */
  readonly path: string | undefined;
  /** An operation of GraphQL, JSON-RPC or AWS; undefined for any. */
  readonly operation?: string | undefined;
}

export interface Step {
  readonly name: StepName;
  /** Seconds, milliseconds or a status; 0 for a step that names none. */
  readonly value: number;
  readonly aim?: Aim;
}

const NAMES = Object.keys(STEPS) as StepName[];
const FORMS = NAMES.map((name) => (STEPS[name] ? `${name}:${STEPS[name].letter}` : name)).join(', ');

/** Reads a script: steps and groups, separated by commas. Throws `Mistake`, which names the step that is wrong. */
export function parseScript(script: string): Step[] {
  if (script.trim() === '') throw new Mistake(`The script is empty; separate its steps by commas: ${FORMS}`);
  if (script.length > CHARACTERS_MAX) {
    throw new Mistake(`The script has ${script.length} characters; ${CHARACTERS_MAX} at most are possible`);
  }
  const steps = parseItems(script, 1);
  const early = steps.find(({ name, aim }, place) => name === 'revoked' && !aim && place < steps.length - 1);
  if (early) throw new Mistake('revoked is for good; write it last, and once');
  return steps;
}

/** The text of a step. */
export function stepText({ name, value, aim }: Step): string {
  const text = value === 0 ? name : `${name}:${value}`;
  return aim ? `${text}@${aimText(aim)}` : text;
}

function aimText({ nth, method, path, operation }: Aim): string {
  return [`${nth === 1 ? '' : `${nth}.`}${method}`, path, operation].filter(Boolean).join(' ');
}

function parseItems(text: string, depth: number): Step[] {
  if (depth > DEPTH_MAX) throw new Mistake(`The script has more than ${DEPTH_MAX} groups in each other`);
  const steps: Step[] = [];
  for (const item of itemsOf(text)) {
    const [, inner, times] = /^\((.*)\)(?:\*(\d+))?$/s.exec(item) ?? [];
    const [found, count] = inner === undefined ? parseStep(item) : [parseItems(inner, depth + 1), countOf(times, item)];
    if (steps.length + found.length * count > STEPS_MAX) throw new Mistake(`The script has over ${STEPS_MAX} steps`);
    for (let time = 0; time < count; time += 1) steps.push(...found);
  }
  return steps;
}

/** The parts between the commas that are in no group. */
function itemsOf(text: string): string[] {
  const items = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) break;
    if (character === ',' && depth === 0) items.push('');
    else items.push(items.pop() + character);
  }
  if (depth !== 0) throw new Mistake(`The parentheses of the script ${quote(text)} do not match`);
  return items.map((item) => item.trim());
}

function parseStep(item: string): [Step[], number] {
  const [written = '', ...aimed] = item.split('@');
  const [, named = '', value, times] = /^([^:*]*)(?::([^*]*))?(?:\*(.*))?$/s.exec(written) ?? [];
  const name = NAMES.find((each) => each === named);
  if (!name) throw new Mistake(`The step ${quote(item)} is none of these: ${FORMS}`);
  const aim = aimed.length > 0 ? { aim: parseAim(aimed.join('@'), item) } : {};
  return [[{ name, value: numberOf(name, value, item), ...aim }], countOf(times, item)];
}

function parseAim(text: string, item: string): Aim {
  const [, nth = '1', method, path, operation] =
    /^(?:([1-9]\d{0,3})\.)?([A-Z]+)(?: (\/\S*)(?: (\S.*))?)?$/.exec(text) ?? [];
  if (method === undefined) {
    throw new Mistake(`The step ${quote(item)} is aimed at ${quote(text)}; write @METHOD, @3.GET or @POST /a/*`);
  }
  return { nth: Number(nth), method, path, ...(operation && { operation }) };
}

function numberOf(name: StepName, written: string | undefined, item: string): number {
  const wanted: Value | undefined = STEPS[name];
  if (!wanted) {
    if (written !== undefined) throw new Mistake(`The step ${quote(item)} takes no number; write ${name}`);
    return 0;
  }
  const value = /^\d{1,8}$/.test(written ?? '') ? Number(written) : Number.NaN;
  if (value >= wanted.min && value <= wanted.max) return value;
  const example = `${name}:${Math.max(2, wanted.min)}`;
  throw new Mistake(
    `The step ${quote(item)} needs a whole number from ${wanted.min} to ${wanted.max}, such as ${example}`,
  );
}

function countOf(times: string | undefined, item: string): number {
  if (times === undefined) return 1;
  const count = /^\d{1,5}$/.test(times) ? Number(times) : Number.NaN;
  if (count >= 1 && count <= STEPS_MAX) return count;
  throw new Mistake(`${quote(item)} repeats ${quote(times)} times; write a whole number from 1 to ${STEPS_MAX}`);
}

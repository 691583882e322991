import { Mistake, quote } from '../mistake.ts';
import { NOTES_MAX } from './note.ts';

/** As many as the requests that are noted. */
const STEPS_MAX = NOTES_MAX;
/** Bound on the text of a script, in characters. */
const CHARACTERS_MAX = 4_096;
const SLOW_SECONDS_MAX = 60;
const DAY_SECONDS = 86_400;

/** The most seconds that each step may name; 0 for a step that names none. */
const STEP_SECONDS_MAX = {
  ok: 0,
  limit: DAY_SECONDS,
  'limit-date': DAY_SECONDS,
  quota: DAY_SECONDS,
  ban: DAY_SECONDS,
  unavailable: DAY_SECONDS,
  unknown: 0,
  lost: 0,
  reset: 0,
  cut: 0,
  slow: SLOW_SECONDS_MAX,
  error: 0,
  revoked: 0,
  grease: 0,
} as const;

/** The words that a step of a script may begin with. */
export type StepName = keyof typeof STEP_SECONDS_MAX;

export interface Step {
  readonly name: StepName;
  /** 0 for a step that names none. */
  readonly seconds: number;
}

const STEP_FORMS: readonly string[] = (Object.keys(STEP_SECONDS_MAX) as StepName[]).map((name) =>
  STEP_SECONDS_MAX[name] === 0 ? name : `${name}:S`,
);

/** Reads a script: one step for each request. Throws `Mistake`, which names the first step that is wrong. */
export function parseScript(script: string): Step[] {
  if (script.trim() === '')
    throw new Mistake(`The script is empty; separate its steps by commas: ${STEP_FORMS.join(', ')}`);
  if (script.length > CHARACTERS_MAX) {
    throw new Mistake(`The script has ${script.length} characters; ${CHARACTERS_MAX} at most are possible`);
  }
  const steps: Step[] = [];
  for (const [index, written] of script.split(',').entries()) {
    const place = `Step ${index + 1} of the script, ${quote(written.trim())},`;
    if (steps.at(-1)?.name === 'revoked')
      throw new Mistake(`${place} follows revoked, which is for good; write revoked last`);
    const { step, times } = parseStep(written.trim(), place);
    if (steps.length + times > STEPS_MAX) throw new Mistake(`The script has more than ${STEPS_MAX} steps`);
    for (let time = 0; time < times; time += 1) steps.push(step);
  }
  return steps;
}

/** The text of a step. */
export function stepText({ name, seconds }: Step): string {
  return seconds === 0 ? name : `${name}:${seconds}`;
}

function parseStep(written: string, place: string): { step: Step; times: number } {
  const [, named = '', seconds, times] = /^([^:*]*)(?::([^*]*))?(?:\*(.*))?$/s.exec(written) ?? [];
  const name = (Object.keys(STEP_SECONDS_MAX) as StepName[]).find((each) => each === named);
  if (!name) throw new Mistake(`${place} is none of the steps: ${STEP_FORMS.join(', ')}`);
  const step = { name, seconds: secondsOf(name, seconds, place) };
  if (times === undefined) return { step, times: 1 };
  if (name === 'revoked') throw new Mistake(`${place} is for good; write it once`);
  const count = wholeNumber(times);
  if (!(count >= 1 && count <= STEPS_MAX)) {
    throw new Mistake(
      `${place} repeats ${quote(times)} times; write a whole number from 1 to ${STEPS_MAX} after the *`,
    );
  }
  return { step, times: count };
}

function secondsOf(name: StepName, written: string | undefined, place: string): number {
  const most = STEP_SECONDS_MAX[name];
  if (most === 0) {
    if (written !== undefined) throw new Mistake(`${place} takes no seconds; write ${name}`);
    return 0;
  }
  const seconds = wholeNumber(written ?? '');
  if (seconds >= 1 && seconds <= most) return seconds;
  throw new Mistake(`${place} needs whole seconds from 1 to ${most}, such as ${name}:2`);
}

function wholeNumber(text: string): number {
  return /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
}

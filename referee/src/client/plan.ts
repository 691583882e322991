import type { KindCount, Learned } from './learned.ts';
import { type Customs, cellOf, isCreate, isWrite, RULE_NAMES, type RuleName } from './rules.ts';

/** Faults by how much they show of a client, the most telling first. */
const OF_WRITES = ['lost', 'unknown', 'error*2', 'unavailable:1', 'limit:1', 'reset', 'cut'];
const OF_READS = ['limit:1', 'lost', 'error*2', 'unavailable:1', 'cut', 'limit-date:2', 'grease'];
/** However many kinds there are, the usual number of plays has the faults for good. */
const FOR_GOOD_PLACE_MAX = 22;
/** Faults that nothing but stopping helps against. */
const FOR_GOOD = ['error*12', 'revoked'];
/** The rules that only a fault for good tests, which the usual plan has for one kind. */
export const TESTED_FOR_GOOD: ReadonlySet<RuleName> = new Set(['backs-off', 'gives-up', 'stops']);

/** A play that is planned: a fault aimed at a kind of request. */
export interface Planned {
  readonly script: string;
  readonly kind: string;
}

/** The plays that a client needs, the most telling first; `isWhole` has the faults for good for every kind. */
export function planFor({ calls, expected }: Learned, customs: Customs, isWhole: boolean): Planned[] {
  const at = (kind: string, fault: string, nth: number): Planned => {
    const [method = '', path = '', ...operation] = kind.split(' ');
    const aim = [`${nth === 1 ? '' : `${nth}.`}${method}`, path.replaceAll('{}', '*'), ...operation].join(' ');
    return { script: `${fault}@${aim}`, kind };
  };
  const rounds = calls.flatMap(({ kind, count, hasJson }) => {
    const ofReads = OF_READS.filter((fault) => hasJson || fault !== 'grease');
    const faults = isWrite(kind, customs) ? OF_WRITES : ofReads;
    return [...new Set([1, count])].flatMap((nth, turn) =>
      faults.map((fault, index) => ({ round: turn * faults.length + index, planned: at(kind, fault, nth) })),
    );
  });
  const inRounds = rounds.toSorted((one, other) => one.round - other.round).map(({ planned }) => planned);
  const kinds = isWhole ? calls : [calls.find(({ kind }) => isWrite(kind, customs)) ?? calls[0]];
  // Among equal calls only tries of the last one are more than the client makes of itself.
  const placeIn = ({ kind, count }: KindCount) => (expected({ call: '', kind }) > 1 ? count : 1);
  const forGood = FOR_GOOD.flatMap((fault) =>
    kinds.flatMap((each) => (each ? at(each.kind, fault, placeIn(each)) : [])),
  );
  const place = Math.min(calls.length, FOR_GOOD_PLACE_MAX);
  return [...inRounds.slice(0, place), ...forGood, ...inRounds.slice(place)];
}

/** The rules that a plan can test for a kind. */
export function appliesTo(rule: RuleName, { kind, hasJson }: KindCount, customs: Customs): boolean {
  if (rule === 'retries-safely' || rule === 'once') return isCreate(kind, customs);
  if (rule === 'tells') return isWrite(kind, customs);
  return rule !== 'tolerates' || (hasJson && !isWrite(kind, customs));
}

/** The cells of the table that `--strict` asks for. */
export function asked({ calls }: Learned, customs: Customs, isWhole: boolean): ReadonlySet<string> {
  const first = calls.find(({ kind }) => isWrite(kind, customs)) ?? calls[0];
  return new Set(
    calls.flatMap((call) =>
      RULE_NAMES.filter((rule) => appliesTo(rule, call, customs))
        .filter((rule) => isWhole || call === first || !TESTED_FOR_GOOD.has(rule))
        .map((rule) => cellOf(call.kind, rule)),
    ),
  );
}

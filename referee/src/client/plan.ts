import type { KindCount, Learned } from './learned.ts';
import { type Customs, cellOf, isCreate, isWrite, RULE_NAMES, type RuleName } from './rules.ts';

/** Faults by how much they show of a client, the most telling first. */
const OF_WRITES = ['lost', 'unknown', 'error*2', 'unavailable:1', 'limit:1', 'reset', 'cut'];
const OF_READS = ['limit:1', 'lost', 'error*2', 'grease', 'unavailable:1', 'limit-date:2', 'cut'];
/** However many kinds there are, the usual number of plays has the faults for good. */
const FOR_GOOD_PLACE_MAX = 22;
/** Faults that nothing but stopping helps against. */
const FOR_GOOD = ['error*12', 'revoked'];
/** Faults that are aimed at one kind, one in each round. */
const ONCE = ['status:409', 'limit:8', 'status:422', 'limit-reset:2', 'slow:5', 'stall'];
/** The rules that only a fault for good tests, which the usual plan has for one kind. */
export const TESTED_FOR_GOOD: ReadonlySet<RuleName> = new Set(['backs-off', 'gives-up', 'stops']);

/** A play that is planned: a fault aimed at a kind of request. */
export interface Planned {
  readonly script: string;
  readonly kind: string;
}

/** The plays that a client needs, the most telling first; `isWhole` has the faults for good for every kind. */
export function planFor({ calls, expected, hasReset }: Learned, customs: Customs, isWhole: boolean): Planned[] {
  const at = (kind: string, fault: string, nth: number): Planned => {
    const [method = '', path = '', ...operation] = kind.split(' ');
    const aim = [`${nth === 1 ? '' : `${nth}.`}${method}`, path.replaceAll('{}', '*'), ...operation].join(' ');
    return { script: `${fault}@${aim}`, kind };
  };
  const rounds = calls.flatMap(({ kind, count, hasJson }) => {
    const ofReads = OF_READS.filter((fault) => hasJson || fault !== 'grease');
    const faults = isWrite(kind, customs) ? OF_WRITES : ofReads;
    // The last call of a kind has half as many rounds.
    return [...new Set([1, count])].flatMap((nth, turn) =>
      faults.map((fault, index) => ({ round: turn === 0 ? index : 2 * index + 1, planned: at(kind, fault, nth) })),
    );
  });
  const first = calls.find(({ kind }) => isWrite(kind, customs)) ?? calls[0];
  // Among equal calls only tries of the last one are more than the client makes of itself.
  const placeIn = ({ kind, count }: KindCount) => (expected({ call: '', kind }) > 1 ? count : 1);
  // The failure of a last call may be swallowed where that of the first one is told.
  const placesIn = (each: KindCount) => (isWhole ? [...new Set([placeIn(each), each.count])] : [placeIn(each)]);
  const aimed = (fault: string, each = first) => (each ? placesIn(each).map((nth) => at(each.kind, fault, nth)) : []);
  const forGood = FOR_GOOD.flatMap((fault) => (isWhole ? calls : [first]).flatMap((each) => aimed(fault, each)));
  const once = ONCE.filter((fault) => hasReset || !fault.startsWith('limit-reset')).flatMap((fault, index) =>
    aimed(fault).map((planned) => ({ round: index + 1, planned })),
  );
  const inRounds = [...rounds, ...once].sort((one, other) => one.round - other.round).map(({ planned }) => planned);
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

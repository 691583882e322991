import { type KindCount, kindsOf, type Learned } from './learned.ts';
import type { Play } from './note.ts';
import { appliesTo, asked, TESTED_FOR_GOOD } from './plan.ts';
import {
  type Customs,
  cellOf,
  type Finding,
  isWrite,
  type Judged,
  judge,
  REPEATED,
  RULE_NAMES,
  RULES,
  type RuleName,
} from './rules.ts';

const EVIDENCE_MAX = 3;
const MAY_READ = /^POST \S*(login|token|search|query)$|^POST \S+ (?!mutation)./i;
/** Steps that no client survives. */
const FATAL = /^(revoked|status:4|stall|quota|ban|(limit|limit-date|limit-reset|unavailable):\d{3,}$)/;
const FAILURES_SURVIVED_MAX = 9;

/** A cell of the table: one rule, for one kind of request. */
export interface Cell {
  readonly kind: string;
  readonly rule: RuleName;
  /** `no`: a client that does not retry, which breaks nothing unless `recovers` is required. */
  readonly verdict: 'kept' | 'broken' | 'no' | 'not tested';
  /** The script under which it was broken first. */
  readonly play?: string;
  readonly evidence: readonly string[];
  readonly fix?: string;
  /** The reason why it was not tested. */
  readonly reason?: string;
  /** What was played of a rule that is kept, if that is less than the rule. */
  readonly played?: string;
  /** True if --expected has it, so that it does not count. */
  readonly isKnown?: true;
}

/** The verdict on a client, as `--json` prints it. */
export interface ClientReport {
  readonly calls: readonly KindCount[];
  readonly planned: number;
  readonly played: number;
  readonly durationMs: number;
  readonly rules: readonly Cell[];
  readonly remarks: readonly string[];
  readonly plays: readonly Play[];
  readonly exit: { readonly code: number; readonly reason: string };
}

/** A rule that is known to be broken for a kind of request. */
export interface Expected {
  /** The file and line. */
  readonly place: string;
  readonly text: string;
  readonly kind: string;
  readonly rule: RuleName;
}

/** What a verdict is asked for. */
export interface Asked {
  readonly customs: Customs;
  readonly skipped: readonly RuleName[];
  readonly only: readonly RuleName[];
  readonly isRecoveryRequired: boolean;
  readonly isStrict: boolean;
  readonly isFailureAllowed: boolean;
  readonly isPartialAllowed: boolean;
  readonly expected: readonly Expected[];
}

/** What was played. */
export interface Played {
  readonly plays: readonly Play[];
  readonly planned: number;
  readonly durationMs: number;
  readonly learned: Learned;
  /** True if scripts were given in place of a plan. */
  readonly isScripted: boolean;
  /** True if every fault was planned for every kind. */
  readonly isWhole: boolean;
  /** The kinds of the plays that were planned and not made. */
  readonly left: readonly string[];
}

/** Judges all plays. */
export function reportOn(played: Played, wanted: Asked): ClientReport {
  const { plays, planned, durationMs, learned, isScripted } = played;
  const judged = plays.map((play) => ({ play, ...judge(play, learned, wanted.customs) }));
  const calls = isScripted ? kindsOf(plays.map(({ requests }) => requests)) : learned.calls;
  const found = calls.flatMap((call) =>
    RULE_NAMES.filter((rule) => isWanted(rule, wanted)).flatMap((rule) =>
      cellFor(call, rule, { judged, played, wanted }),
    ),
  );
  const cells = found.filter((cell) => !isSaidByOnce(cell, found));
  const remarks = [...new Set([...learned.remarks, ...judged.flatMap((each) => each.remarks)])];
  const exit = exitOf(cells, { played, wanted });
  return { calls, planned, played: plays.length, durationMs, rules: cells, remarks, plays, exit };
}

/** True for `retries-safely` where `once` is broken too: one fault is shown once. */
function isSaidByOnce({ kind, rule, verdict }: Cell, cells: readonly Cell[]): boolean {
  if (rule !== 'retries-safely' || verdict !== 'broken') return false;
  return cells.some((each) => each.kind === kind && each.rule === 'once' && each.verdict === 'broken');
}

type JudgedPlay = Judged & { readonly play: Play };

interface Context {
  readonly judged: readonly JudgedPlay[];
  readonly played: Played;
  readonly wanted: Asked;
}

function cellFor(call: KindCount, rule: RuleName, { judged, played, wanted }: Context): Cell[] {
  const { kind } = call;
  const name = cellOf(kind, rule);
  const isTested = judged.some(({ tested }) => tested.has(name));
  const parts = new Set(judged.flatMap(({ tested }) => [...(tested.get(name) ?? [])]));
  if (!isTested && !appliesTo(rule, call, wanted.customs)) return [];
  const isRepeated = judged.some(({ repeated }) => repeated === kind);
  if (isRepeated) return [{ kind, rule, verdict: 'not tested', evidence: [], reason: REPEATED }];
  const found = judged.flatMap(({ play, findings }) =>
    findings.filter((each) => each.rule === rule && each.kind === kind).map((finding) => ({ play, finding })),
  );
  const isKnown = wanted.expected.some((each) => each.kind === kind && each.rule === rule);
  const [first] = found;
  if (!first) {
    // One of both ways to give up, or some of eight statuses.
    const isPart = parts.size === 1 || (parts.size > 0 && rule === 'stops');
    if (isTested) {
      return [{ kind, rule, verdict: 'kept', evidence: [], ...(isPart && { played: [...parts].sort().join(', ') }) }];
    }
    const [untested] = judged.flatMap((each) => each.untested.get(name) ?? []);
    return [{ kind, rule, verdict: 'not tested', evidence: [], reason: untested ?? reasonFor(kind, rule, played) }];
  }
  const isFree = rule === 'recovers' && !wanted.isRecoveryRequired;
  const verdict = isFree ? 'no' : 'broken';
  const [play, evidence, fix] = [first.play.script, evidenceOf(found), fixOf(kind, rule)];
  return [{ kind, rule, verdict, play, evidence, fix, ...(isKnown && { isKnown: true }) }];
}

/** The advice; a POST of which nobody but its API knows whether it changes something is asked about. */
function fixOf(kind: string, rule: RuleName): string {
  const { fix } = RULES[rule];
  const isDoubtful = /^(once|retries-safely|tells)$/.test(rule) && MAY_READ.test(kind);
  return isDoubtful ? `${fix}; if it only reads: --safe '${kind}'` : fix;
}

/** At most three pieces of evidence, of different plays where there are some. */
function evidenceOf(found: readonly { readonly play: Play; readonly finding: Finding }[]): string[] {
  const firsts = [...Map.groupBy(found, ({ play }) => play).values()].flatMap((same) => same.slice(0, 1));
  const shown = [...new Set([...firsts, ...found])].slice(0, EVIDENCE_MAX);
  const texts = shown.map(({ play, finding }) => `${play.script}: ${finding.text}`);
  return found.length > shown.length ? [...texts, `and ${found.length - shown.length} more`] : texts;
}

function reasonFor(kind: string, rule: RuleName, { isScripted, isWhole, left }: Played): string {
  if (isScripted) return 'no script led there';
  if (left.includes(kind)) return 'not all plays for it were made; --plays all makes them';
  if (TESTED_FOR_GOOD.has(rule) && !isWhole)
    return 'error*12 and revoked are aimed at one kind; --plays all aims them at each';
  return rule === 'tolerates' ? 'no answer had a JSON object' : 'no play led there';
}

function isWanted(rule: RuleName, { only, skipped }: Asked): boolean {
  return !skipped.includes(rule) && (only.length === 0 || only.includes(rule));
}

function exitOf(cells: readonly Cell[], { played, wanted }: Omit<Context, 'judged'>): ClientReport['exit'] {
  const { plays, learned, isScripted, isWhole } = played;
  const failed = plays.find(({ failure }) => failure !== undefined);
  if (failed) return { code: 2, reason: failed.failure ?? '' };
  if (plays.every(({ requests }) => requests.length === 0))
    return { code: 2, reason: 'No request came: does the command use REFEREE_URL?' };
  if (cells.some(({ verdict, isKnown }) => verdict === 'broken' && !isKnown)) {
    return { code: 1, reason: 'a rule is broken' };
  }
  const kept = new Set(cells.filter(({ verdict }) => verdict === 'kept').map(({ kind, rule }) => cellOf(kind, rule)));
  const stale = wanted.expected.find(({ kind, rule }) => kept.has(cellOf(kind, rule)));
  if (stale) return { code: 1, reason: `${stale.place}: "${stale.text}" is stale: it was not broken; remove the line` };
  if (plays.some(({ command }) => command?.timedOut)) return { code: 2, reason: 'the command did not end in time' };
  if (isScripted) {
    const failing = plays.filter(({ command }) => command !== undefined && command.exit !== 0);
    const unforced = wanted.isFailureAllowed ? undefined : failing.find(isSurvivable);
    if (unforced)
      return { code: 4, reason: `the command failed under ${unforced.script}, which it could have survived` };
    const short = plays.find(({ reached, steps }) => reached < steps);
    if (short && !wanted.isPartialAllowed) {
      return { code: 3, reason: `${short.reached} of ${short.steps} steps of ${short.script} were reached` };
    }
  }
  if (wanted.isStrict) {
    const needed = asked(learned, wanted.customs, isWhole);
    const open = cells.find(({ kind, rule, verdict }) => verdict === 'not tested' && needed.has(cellOf(kind, rule)));
    if (open) return { code: 3, reason: `${open.rule} was not tested for ${open.kind}` };
  }
  return { code: 0, reason: 'no rule is broken' };
}

/** True if a client could have ended well: no step ends its key, and no failure goes on for too long. */
function isSurvivable({ requests }: Play): boolean {
  const steps = requests.flatMap(({ step }) => step ?? []);
  const failures = steps.filter((step) => /^(error|status|reset|lost|cut|unknown)/.test(step)).length;
  return !steps.some((step) => FATAL.test(step.replace(/@.*/, ''))) && failures <= FAILURES_SURVIVED_MAX;
}

/** Rules that apply to no kind that came, each group with the reason. */
export function untestable({ calls }: Pick<ClientReport, 'calls'>, customs: Pick<Customs, 'safe'>): string[] {
  const writes = calls.filter(({ kind }) => isWrite(kind, { ...customs } as Customs));
  const lines: string[] = [];
  if (writes.length === 0) lines.push('no write was sent: retries-safely, once, tells were never tested');
  if (writes.length === calls.length) lines.push('no read was sent: tolerates was never tested');
  return lines;
}

import type { Suite, Timeline, Verdict } from '../report/write.ts';
import { type Note, nameOf, type Play } from './note.ts';
import { type Cell, type ClientReport, untestable } from './report.ts';
import { RULE_NAMES, RULES } from './rules.ts';

const SHOWN_MAX = 200;
const WORDS = { failed: 'broken', skipped: 'never tested' };
const KINDS = { kept: 'passed', broken: 'failed', no: 'passed', 'not tested': 'skipped' } as const;
const COLUMNS = ['#', 'After', 'Asked', 'Request', 'Step', 'Answer'];

/** The verdict on a client for every writer: a row for each kind, a column for each rule. */
export function clientSuite(report: ClientReport, { safe = [] as readonly string[] } = {}): Suite {
  const { calls, rules, planned, played, durationMs, remarks, plays, exit } = report;
  const columns = RULE_NAMES.filter((rule) => rules.some((cell) => cell.rule === rule));
  const wordAt = (kind: string, rule: string) => {
    const cell = rules.find((each) => each.kind === kind && each.rule === rule);
    return cell ? wordOf(cell) : '';
  };
  const left = planned > played ? `; ${planned - played} that were planned were not made` : '';
  const made = `${played} of ${planned} ${planned === 1 ? 'play' : 'plays'}${left}, ${Math.round(durationMs / 1_000)} s`;
  return {
    name: 'The client, by kind of request and rule',
    words: WORDS,
    verdicts: rules.map(verdictOf),
    table: {
      columns: ['', ...columns],
      rows: calls.map(({ kind }) => [kind, ...columns.map((rule) => wordAt(kind, rule))]),
    },
    notes: [...untestable({ calls }, { safe }), ...remarks],
    summary: `${made}. Exit ${exit.code}: ${exit.reason}.`,
    timelines: plays.map(timelineOf),
  };
}

function wordOf({ rule, verdict, isKnown, played }: Cell): string {
  if (verdict === 'not tested') return '–';
  if (isKnown) return 'known';
  if (played !== undefined) return `${verdict} (${played})`;
  return rule === 'recovers' && verdict === 'kept' ? 'yes' : verdict;
}

function verdictOf({ kind, rule, verdict, evidence, fix, reason = '', isKnown }: Cell): Verdict {
  const about = { id: rule, subject: kind, sentence: RULES[rule].asks };
  if (verdict === 'not tested') return { ...about, verdict: 'skipped', message: reason, details: [] };
  const [first = '', ...details] = evidence;
  if (isKnown) return { ...about, verdict: 'skipped', message: `known to be broken: ${first}`, details };
  if (verdict !== 'broken') return { ...about, verdict: KINDS[verdict], message: '', details: [] };
  return { ...about, verdict: 'failed', message: first, details, ...(fix !== undefined && { fix }) };
}

function timelineOf({ script, requests, command }: Play): Timeline {
  const rows = requests.slice(0, SHOWN_MAX).map((note, index) => rowOf(note, index, requests[index - 1]));
  const more = requests.length > SHOWN_MAX ? `, the first ${SHOWN_MAX} of ${requests.length}` : '';
  const end = !command ? '' : command.timedOut ? ', not ended in time' : `, exit ${command.exit ?? 'by a signal'}`;
  return { name: `${script}${end}${more}`, columns: COLUMNS, rows };
}

function rowOf(note: Note, index: number, before: Note | undefined): string[] {
  const asked = before?.isDelivered ? before.retryAfter : null;
  const { step, isEarly, status, isDelivered, isDone } = note;
  const answer = status === null ? 'none' : isDelivered ? `${status}` : `${status}, not all of it`;
  return [
    `${index + 1}`,
    before ? `${Math.round(Math.max(0, note.at - before.answeredAt))} ms` : '',
    asked === null ? '' : `${Math.round(asked * 1_000) / 1_000} s`,
    nameOf(note),
    step ?? (isEarly ? 'early' : ''),
    isDelivered && (status ?? 500) < 400 ? answer : `${answer}; ${isDone ? 'carried out' : 'nothing done'}`,
  ];
}

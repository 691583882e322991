import { type Html, html } from '../../http/html.ts';
import { count, duration, numeric, table } from '../../operator/frame/element.ts';
import { type Judged, judge, RULES } from './judge.ts';
import type { Note, Rehearsed } from './note.ts';

const SHOWN_MAX = 200;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const COLUMNS = [numeric('Request'), numeric('After'), 'Asked', 'What came', 'Step', 'Answer', 'Verdict'];

/** Marks that tell the rehearsals of one page apart. */
interface Marks {
  readonly prefix: string;
  readonly suffix: string;
}

const ALONE: Marks = { prefix: '', suffix: '' };

/** The verdict on a rehearsal and the requests that led to it; renewed as they come where it is alone on its page. */
export function rehearsalView(rehearsed: Rehearsed, marks = ALONE): Html {
  const { rules, remarks } = judge(rehearsed);
  const seen = remarks.map((remark) => html`<p class="soft">${remark}.</p>`);
  return html`${verdicts(rules, marks)}${seen}
${timeline(rehearsed.requests, rules, marks)}`;
}

function verdicts(judged: readonly Judged[], { prefix, suffix }: Marks): Html {
  const rows = judged.map(
    ({ rule, verdict, findings }) => html`<tr><th scope="row"><code>${rule}</code></th><td>${badge(verdict)}</td>
<td class="long">${findings.length === 0 ? (RULES[rule]?.asks ?? '') : requestsOf(findings, prefix)}</td></tr>\n`,
  );
  const columns = ['Rule', 'Verdict', 'What it asks, or which requests break it'];
  return html`<h2>Verdict${suffix}</h2>
${table(`Verdict${suffix}`, columns, rows, prefix ? '' : 'verdict-rows')}`;
}

function requestsOf(findings: Judged['findings'], prefix: string): Html {
  const links = findings
    .slice(0, SHOWN_MAX)
    .map(({ number }, index) => html`${index === 0 ? '' : ', '}<a href="#${prefix}request-${number}">${number}</a>`);
  return html`${findings[0]?.text ?? ''}. <span class="soft">Requests: ${links}</span>`;
}

function badge(verdict: Judged['verdict']): Html {
  if (verdict === 'broken') return html`<span class="badge danger">broken</span>`;
  return verdict === 'kept' ? html`<span class="badge good">kept</span>` : html`<span class="badge">not met</span>`;
}

/** The requests as they came, the waits between them, what was asked for and what was kept. */
function timeline(notes: readonly Note[], judged: readonly Judged[], { prefix, suffix }: Marks): Html {
  const broken = new Map<number, string[]>();
  for (const { rule, findings } of judged) {
    for (const { number } of findings) broken.set(number, [...(broken.get(number) ?? []), rule]);
  }
  const first = Math.max(0, notes.length - SHOWN_MAX);
  const rows = notes.slice(first).map((note, index) => {
    const number = first + index + 1;
    const others = cells(note, { before: notes[number - 2], broken: broken.get(number) ?? [] });
    return html`<tr id="${prefix}request-${number}"><th scope="row" class="number">${number}</th>${others}</tr>\n`;
  });
  const none = html`<tr><td colspan="7">No request has come yet.</td></tr>`;
  return html`<h2>Requests${suffix}</h2>
<p class="soft">As they came: how long after the answer before, and how long that answer asked to wait.${first > 0 ? ` The latest ${count(SHOWN_MAX)} of ${count(notes.length)}.` : ''}</p>
${table(`Requests${suffix}`, COLUMNS, rows.length > 0 ? rows : [none], prefix ? '' : 'timeline-rows')}`;
}

function cells(note: Note, { before, broken }: { before: Note | undefined; broken: readonly string[] }): Html {
  const asked = before?.isDelivered ? before.retryAfter : null;
  const waitedMs = before && Math.max(0, note.at - before.answeredAt);
  const verdict = broken.map((rule) => html`<span class="badge danger">${rule}</span> `);
  const kept = asked !== null && !broken.includes('waits') ? html`<span class="badge good">waited</span>` : '';
  return html`<td class="number">${waitedMs === undefined ? '' : waitText(waitedMs)}</td>
<td>${asked === null || waitedMs === undefined ? '' : askedFor(asked, waitedMs)}</td><td>${note.method} <code>${note.route}</code></td>
<td>${note.step === null ? html`<span class="soft">${note.isEarly ? 'early' : 'none'}</span>` : html`<code>${note.step}</code>`}</td>
<td>${answerText(note)}</td><td>${verdict}${kept}</td>`;
}

function askedFor(seconds: number, waitedMs: number): Html {
  const most = seconds * SECOND_MS;
  return html`<meter min="0" max="${most}" optimum="${most}" low="${most * 0.9}" high="${most * 0.99}" value="${Math.min(waitedMs, most)}" title="${waitText(waitedMs)} of ${seconds} s"></meter> ${duration(seconds)}`;
}

function answerText({ status, isDelivered, isDone, hasCreated }: Note): string {
  const answer = status === null ? 'none' : isDelivered ? `${status}` : `${status}, not all of it`;
  if (hasCreated) return `${answer}; created`;
  return isDelivered && (status ?? 500) < 400 ? answer : `${answer}; ${isDone ? 'carried out' : 'nothing done'}`;
}

function waitText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  return ms < MINUTE_MS ? `${(ms / SECOND_MS).toFixed(2)} s` : duration(ms / SECOND_MS);
}

import { hostname } from 'node:os';
import { type Html, html } from '../../http/html.ts';
import { BACKUP_INTERVALS_MAX, type Finding } from '../../telemetry/finding.ts';
import type { ConsoleContext, ConsoleOptions, Examined } from './frame/context.ts';
import { count, counted, duration, moment, withCode } from './frame/element.ts';

/** The time that the findings of `doctor` are kept. */
const FINDINGS_KEPT_MS = 600_000;
/** Checks that would take more than this share of the time are repeated more rarely. */
const EXAMINED_SHARE = 0.02;

/** The state of what this instance depends on, the last backup, and what the command `doctor` would complain of. */
export async function healthSection(context: ConsoleContext): Promise<Html> {
  const { health, limiter, usesRedis, version, environment, url } = context;
  const database = await health.ready().then(
    () => html`<span class="badge good">up</span>`,
    () => html`<span class="badge danger">down</span> Requests that need it get 503; see the log.`,
  );
  const counting = usesRedis
    ? limiter.lost.length === 0
      ? html`<span class="badge good">up</span>`
      : html`<span class="badge danger">down</span> This instance counts by itself and admits its share of each limit.`
    : html`<span class="badge">not used</span> This instance counts alone.`;
  return html`<section id="health" data-live aria-labelledby="health-heading">
<h2 id="health-heading">Health <small>of this instance</small></h2>
<dl class="facts"><dt>Requests</dt><dd>${lately(context)}</dd>
<dt>Database</dt><dd>${database}</dd><dt>Redis</dt><dd>${counting}</dd>
<dt>Last backup</dt><dd>${await lastBackup(context)}</dd>
<dt>Checks</dt><dd>${checks(context)}</dd>
<dt>Version</dt><dd>${version}. It does not look for newer ones; the upgrade is a chapter of <code>docs/operations.md</code>.</dd>
<dt>This instance</dt><dd>on <code>${hostname()}</code>, ${environment}, up for ${duration(process.uptime())}: <a href="/console/audit?target=service">events</a></dd>
<dt>API</dt><dd><code>${url()}</code></dd></dl>
</section>`;
}

function lately({ traffic }: ConsoleContext): Html {
  const found = traffic();
  if (!found) return html`<span class="soft">counted from now on</span>`;
  const { requests, seconds, p50, p99 } = found;
  const perSecond = (requests / seconds).toLocaleString('en-US', { maximumSignificantDigits: 3 });
  const times =
    p50 === undefined ? '' : `, half of them within ${milliseconds(p50)}, 99 of 100 within ${milliseconds(p99)}`;
  return html`<strong>${perSecond} a second</strong> in the last ${Math.ceil(seconds)} s${times}`;
}

/** To two digits: more would be made up, since durations are counted in buckets. */
function milliseconds(seconds = 0): string {
  return `${Number((seconds * 1_000).toPrecision(2)).toLocaleString('en-US', { maximumSignificantDigits: 3 })} ms`;
}

async function lastBackup({ metrics, now }: ConsoleContext): Promise<Html> {
  const { backupInterval, backupTime, backupFailures, backupRestored } = metrics;
  const metered = await Promise.all(
    [backupInterval, backupTime, backupFailures, backupRestored].map((each) => each.get()),
  );
  const [everySeconds = 0, at = 0, failures = 0, restored = 0] = metered.map(({ values }) => values[0]?.value ?? 0);
  if (everySeconds === 0) {
    return html`<span class="badge">not scheduled</span> This instance makes none: with SQLite set <code>BACKUP_DIR</code>, with PostgreSQL use its own tools.`;
  }
  const failed = failures > 0 ? html` Failed attempts since the start: ${count(failures)}; see the log.` : '';
  if (at === 0)
    return html`<span class="badge warning">none yet</span> One is due every ${duration(everySeconds)}.${failed}`;
  const age = now - at;
  const isOverdue = age > BACKUP_INTERVALS_MAX * everySeconds;
  const badge = isOverdue ? html`<span class="badge danger">overdue</span> ` : '';
  const trial = restored === 0 ? 'none was restored on trial yet' : html`one restored and compared ${moment(restored)}`;
  return html`${badge}<strong>${duration(age)} old</strong>, made and checked ${moment(at)}; ${trial}; one is due every ${duration(everySeconds)}.${failed}`;
}

/** Repeats what the command `doctor` checks, while operators look at it. No page waits for it. */
export function createExamination({ examine, time }: ConsoleOptions): ConsoleContext['examination'] {
  if (!examine) return undefined;
  let latest: Examined | undefined;
  let dueAtMs = 0;
  const repeat = async () => {
    dueAtMs = Number.POSITIVE_INFINITY;
    const startedMs = time.steadyMs();
    const findings = await examine().catch((error: Error): Finding[] => {
      const advice = 'run `pet-catalog doctor` on the machine';
      return [{ check: 'doctor', status: 'warning', finding: `The checks failed: ${error.message}`, advice }];
    });
    latest = { at: time.now().unix, findings };
    dueAtMs = time.steadyMs() + Math.max(FINDINGS_KEPT_MS, (time.steadyMs() - startedMs) / EXAMINED_SHARE);
  };
  return () => {
    if (time.steadyMs() >= dueAtMs) void repeat();
    return latest;
  };
}

function checks({ examination }: ConsoleContext): Html {
  const examined = examination?.();
  if (!examined)
    return html`<span class="soft">${examination ? 'Being checked…' : 'Run'}</span> <code>pet-catalog doctor</code>`;
  const { at, findings } = examined;
  const complaints = findings.filter((each) => each.status !== 'ok');
  const passed = findings.filter((each) => each.status === 'ok');
  const rank = ({ status }: Finding) => (status === 'problem' ? 0 : 1);
  const sorted = [...complaints.sort((one, other) => rank(one) - rank(other)), ...passed];
  const badge = complaints.length === 0 ? html`<span class="badge good">nothing to do</span> ` : '';
  return html`${badge}${count(passed.length)} of ${counted(findings.length, 'check')} passed: <span class="soft">what <code>pet-catalog doctor</code> checks, at ${moment(at)}</span>
<ul class="findings">${sorted.map(findingLine)}</ul>`;
}

function findingLine({ check, finding, ...rest }: Finding): Html {
  if (rest.status === 'ok') return html`<li class="soft">${check}: ${finding}</li>`;
  const tone = rest.status === 'problem' ? 'danger' : 'warning';
  return html`<li><span class="badge ${tone}">${rest.status}</span> ${check}: ${finding}. <span class="soft">To do: ${withCode(rest.advice)}.</span></li>`;
}

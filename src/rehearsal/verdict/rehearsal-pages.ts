import { invalid } from '../../catalog/error.ts';
import { issueKey, keyWithId } from '../../catalog/operator/changes.ts';
import { validator } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import {
  type ConsoleContext,
  type ConsoleRoute,
  may,
  nothingHere,
  onGet,
  onPost,
  type View,
} from '../../operator/frame/context.ts';
import { csrfField, empty, foreign, mistake, post, table } from '../../operator/frame/element.ts';
import { field, mistakeIn } from '../../operator/frame/form.ts';
import { secretPage } from '../../operator/keys/change.ts';
import type { Transactions } from '../../storage/sql/transactions.ts';
import { parseScript, STEP_SECONDS_MAX } from '../script/script.ts';
import { PrintedRehearsal, type Rehearsed } from './note.ts';
import { reachedText } from './report.ts';
import { insertScript, listRehearsed, type RehearsedKey, readRehearsal } from './stored-rehearsals.ts';
import { rehearsalView } from './timeline.ts';

const SHOWN_MAX = 100;
/** The steps that the form asks for, one after the other. */
const ROWS = 6;
const PLAN = 'business';
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const REPORTS_MAX = 50;

const checkReports = validator({ type: 'array', maxItems: REPORTS_MAX, items: PrintedRehearsal } as const);

/**
 * The pages of the console about rehearsals: their list, the form that writes a script, the timeline of each, and that
 * of a run whose service or proxy is gone, by its report, of which nothing is kept.
 */
export function rehearsalRoutes(transactions: Transactions): readonly ConsoleRoute[] {
  return [
    onGet('/rehearsals', (context) => listPage(context, transactions)),
    onGet('/rehearsals/new', (context) => formPage(context), 'keys'),
    onPost('/rehearsals', (context) => create(context, transactions), 'keys'),
    onGet('/rehearsals/report', (context) => filePage(context)),
    { ...onPost('/rehearsals/report', showReports, 'viewer'), bodyBytesMax: FILE_BYTES_MAX },
    onGet('/rehearsals/:id', (context) => rehearsalPage(context, transactions)),
  ];
}

async function listPage(context: ConsoleContext, transactions: Transactions): Promise<View> {
  const rehearsed = await listRehearsed(transactions, SHOWN_MAX + 1);
  const button = may(context, 'keys')
    ? html`<a class="button primary" href="/console/rehearsals/new">New rehearsal</a>`
    : '';
  const columns = ['Key', 'Script', 'Reached'];
  const none = empty(
    'No client was rehearsed yet.',
    html`A key with a script has its requests meet limits, failures and lost answers, one after the other.`,
  );
  const content = html`<div class="heading"><h1>Rehearsals</h1><div class="row"><a class="button" href="/console/rehearsals/report">Show a report</a>${button}</div></div>
<p class="lead">A key that follows a script proves its client. Each request meets the next step; then the client is judged by what it did.</p>
${rehearsed.length === 0 ? none : table('Rehearsals', columns, rehearsed.slice(0, SHOWN_MAX).map(listRow), 'rehearsals-rows')}
${rehearsed.length > SHOWN_MAX ? html`<p class="soft">The latest ${SHOWN_MAX}. <code>pet-catalog rehearse report ID</code> judges any other.</p>` : ''}`;
  return { section: '/rehearsals', title: 'Rehearsals', content };
}

function listRow({ keyId, name, script, reached }: RehearsedKey): Html {
  const steps = parseScript(script).length;
  return html`<tr><th scope="row"><a href="/console/rehearsals/${keyId}">${foreign(name)}</a></th>
<td class="long"><code>${script}</code></td><td>${reached} of ${steps}</td></tr>\n`;
}

function formPage(context: ConsoleContext, wrong?: string): View {
  const fields = readFields(context.form);
  const rows = fields.rows.map((row, index) => formRow(index + 1, row));
  const form = html`<div class="fields"><div><label for="name">Name of the key</label>
<input id="name" name="name" value="${fields.name}" maxlength="100" required autocomplete="off"></div>
<fieldset><legend>Steps</legend>${rows}
<p class="hint">Seconds only where the step has them: ${secondsHint()}.</p></fieldset>
<div><label for="script">Or the script itself</label>
<input id="script" name="script" value="${fields.script}" autocomplete="off" spellcheck="false" aria-describedby="script-hint">
<p class="hint" id="script-hint">Such as <code>ok,limit:2,lost*2,ok</code>. If it is given, the steps above are ignored.</p></div>
<div class="row"><button class="primary">Create the key</button><a class="button" href="/console/rehearsals">Cancel</a></div></div>`;
  const content = html`<h1>New rehearsal</h1>
<p class="lead">The first request with the new key meets the first step, the next one the second. Then everything is as usual. The key is on the plan ${PLAN}.</p>
${mistake(wrong)}
${post(context, '/rehearsals', form)}`;
  return pageBelow({ title: 'New rehearsal', content, wrong });
}

function formRow(number: number, { step, seconds, times }: ReturnType<typeof readFields>['rows'][number]): Html {
  const names = ['', ...Object.keys(STEP_SECONDS_MAX)].map(
    (each) => html`<option value="${each}"${each === step ? html` selected` : ''}>${each || 'none'}</option>`,
  );
  const count = (name: string, label: string, value: string) =>
    html`<div><label for="${name}-${number}">${label}</label><input id="${name}-${number}" name="${name}" inputmode="numeric" pattern="[0-9]{1,5}" value="${value}" autocomplete="off"></div>`;
  return html`<div class="pair uneven"><div><label for="step-${number}">Step ${number}</label><select id="step-${number}" name="step">${names}</select></div>
${count('seconds', 'Seconds', seconds)}${count('times', 'Times', times)}</div>`;
}

function secondsHint(): string {
  const named = Object.entries(STEP_SECONDS_MAX).filter(([, most]) => most > 0);
  return named.map(([name, most]) => `${name} (${most} at most)`).join(', ');
}

async function create(context: ConsoleContext, transactions: Transactions): Promise<View> {
  const fields = readFields(context.form);
  const script =
    fields.script ||
    fields.rows
      .filter(({ step }) => step !== '')
      .map(({ step, seconds, times }) => `${step}${seconds && `:${seconds}`}${times && `*${times}`}`)
      .join(',');
  try {
    parseScript(script);
    const { key, secret } = await issueKey(context, { name: fields.name, plan: PLAN });
    await insertScript(transactions, { keyId: key.id, script });
    const note = html`<p>Its requests meet <code>${script}</code>. <a href="/console/rehearsals/${key.id}">Watch the rehearsal</a></p>`;
    return secretPage(context, { key, secret, title: 'The key is created', note });
  } catch (error) {
    return formPage(context, mistakeIn(error));
  }
}

/** The fields of the form. A row whose step is empty is none; a script that is written by hand goes before the rows. */
function readFields(form: URLSearchParams) {
  const [steps, seconds, times] = ['step', 'seconds', 'times'].map((name) => form.getAll(name));
  const rows = Array.from({ length: ROWS }, (_, index) => ({
    step: steps?.[index] ?? '',
    seconds: seconds?.[index]?.trim() ?? '',
    times: times?.[index]?.trim() ?? '',
  }));
  return { name: field(form, 'name'), rows, script: field(form, 'script') };
}

async function rehearsalPage(context: ConsoleContext, transactions: Transactions): Promise<View> {
  const { id } = context;
  const rehearsal = await readRehearsal(transactions, id);
  if (!rehearsal) throw nothingHere('rehearsal');
  const key = await keyWithId(context, id);
  const content = html`<h1>${foreign(key.name)}</h1>
<dl class="facts"><dt>Key</dt><dd><a href="/console/keys/${key.id}"><code>${key.id}</code></a></dd>
<dt>Script</dt><dd><code>${rehearsal.script}</code></dd>
<dt>Reached</dt><dd id="reached" data-live>${reachedText(rehearsal)}</dd></dl>
${rehearsalView(rehearsal)}`;
  return pageBelow({ title: `Rehearsal of ${key.name}`, content });
}

function filePage(context: ConsoleContext, wrong?: string): View {
  const content = html`<h1>Show a report</h1>
<p class="lead">The requests of a run as a timeline, before a service of ours or any other API. Nothing of the file is kept.</p>
${mistake(wrong)}
<form method="post" action="/console/rehearsals/report" enctype="multipart/form-data">${csrfField(context)}<div class="fields">
<div><label for="file">File</label><input id="file" name="file" type="file" accept=".json" required aria-describedby="file-hint">
<p class="hint" id="file-hint">Written by <code>pet-catalog rehearse run --json --output report.json</code>, up to 8 MiB.</p></div>
<div class="row"><button class="primary">Show</button><a class="button" href="/console/rehearsals">Cancel</a></div></div></form>`;
  return pageBelow({ title: 'Show a report', content, wrong });
}

function showReports(context: ConsoleContext): View {
  try {
    const views = readReports(context).map((report, index) => reportView(report, index + 1));
    return pageBelow({ title: 'Report', content: html`<h1>Report</h1>${views}` });
  } catch (error) {
    return filePage(context, `This is no report of a rehearsal: ${mistakeIn(error)}`);
  }
}

function readReports({ file }: ConsoleContext): readonly Rehearsed[] {
  if (!file?.name) throw invalid('no file was chosen');
  let sent: unknown;
  try {
    sent = JSON.parse(file.bytes.toString('utf8'));
  } catch {
    throw invalid('the file is not JSON');
  }
  // `rehearse report` prints one alone.
  return checkReports(Array.isArray(sent) ? sent : [sent]) as readonly Rehearsed[];
}

function reportView(report: Rehearsed, place: number): Html {
  const { script, command, failure } = report;
  const marks = { prefix: `${place}-`, suffix: ` under ${place}. ${script}` };
  return html`<dl class="facts"><dt>Script</dt><dd><code>${script}</code></dd>
<dt>Reached</dt><dd>${reachedText(report)}</dd>
<dt>Command</dt><dd>${command ? commandText(command) : 'unknown'}</dd></dl>
${mistake(failure)}
${rehearsalView(report, marks)}`;
}

function commandText({ exit, timedOut }: NonNullable<Rehearsed['command']>): string {
  if (timedOut) return 'stopped, because it did not end in time';
  return exit === null ? 'ended by a signal' : `exited with ${exit}`;
}

/** A page below the list of rehearsals; a form that is shown again says what is wrong. */
function pageBelow(shown: { title: string; content: Html; wrong?: string | undefined }): View {
  const content = html`<p class="crumb"><a href="/console/rehearsals">Rehearsals</a></p>
${shown.content}`;
  const status = shown.wrong === undefined ? 200 : 400;
  return { section: '/rehearsals', title: shown.title, content, status };
}

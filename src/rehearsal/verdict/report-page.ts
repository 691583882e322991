import { CatalogError, invalid } from '../../catalog/error.ts';
import { validator } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { type ConsoleContext, onGet, onPost } from '../../operator/frame/context.ts';
import { csrfField, mistake } from '../../operator/frame/element.ts';
import { page } from '../../operator/frame/layout.ts';
import { parseScript } from '../script/script.ts';
import { PrintedRehearsal, type Rehearsed } from './note.ts';
import { reachedText } from './report.ts';
import { rehearsalView } from './timeline.ts';

const FILE_BYTES_MAX = 8 * 1024 * 1024;
const REHEARSALS_MAX = 50;

const checkReports = validator({ type: 'array', maxItems: REHEARSALS_MAX, items: PrintedRehearsal } as const);

type ReportFile = Omit<Rehearsed, 'notes'> & { readonly requests: Rehearsed['notes'] };

/** The page that shows the report of a run, whose service or proxy is gone. Nothing of it is kept. */
export const reportRoutes = [
  onGet('/rehearsals/report', (context) => formPage(context)),
  { ...onPost('/rehearsals/report', show, 'viewer'), bodyBytesMax: FILE_BYTES_MAX },
];

function formPage(context: ConsoleContext, wrong?: string): Answer {
  const content = html`<p class="crumb"><a href="/console/rehearsals">Rehearsals</a></p>
<h1>Show a report</h1>
<p class="lead">The requests of a run as a timeline, before a service of ours or any other API. Nothing of the file is kept.</p>
${mistake(wrong)}
<form method="post" action="/console/rehearsals/report" enctype="multipart/form-data">${csrfField(context)}<div class="fields">
<div><label for="file">File</label><input id="file" name="file" type="file" accept=".json" required aria-describedby="file-hint">
<p class="hint" id="file-hint">Written by <code>pet-catalog rehearse run --json --output report.json</code>, up to 8 MiB.</p></div>
<div class="row"><button class="primary">Show</button><a class="button" href="/console/rehearsals">Cancel</a></div></div></form>`;
  const status = wrong === undefined ? 200 : 400;
  return page(context, { section: '/rehearsals', title: 'Show a report', content, status });
}

function show(context: ConsoleContext): Answer {
  try {
    const views = readReports(context).map((report, index) => view(report, index + 1));
    const content = html`<p class="crumb"><a href="/console/rehearsals">Rehearsals</a></p>
<h1>Report</h1>${views}`;
    return page(context, { section: '/rehearsals', title: 'Report', content });
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'validation_failed')) throw error;
    return formPage(context, `This is no report of a rehearsal: ${error.message}`);
  }
}

function readReports({ file }: ConsoleContext): readonly ReportFile[] {
  if (!file?.name) throw invalid('no file was chosen');
  let sent: unknown;
  try {
    sent = JSON.parse(file.bytes.toString('utf8'));
  } catch {
    throw invalid('the file is not JSON');
  }
  // `rehearse report` prints one alone.
  return checkReports(Array.isArray(sent) ? sent : [sent]) as readonly ReportFile[];
}

function view({ requests, ...report }: ReportFile, place: number): Html {
  const { script, reached, command, failure } = report;
  const steps = parseScript(script).length;
  const marks = { prefix: `${place}-`, suffix: ` under ${place}. ${script}` };
  return html`<dl class="facts"><dt>Script</dt><dd><code>${script}</code></dd>
<dt>Reached</dt><dd>${reachedText({ reached, steps })}</dd>
<dt>Command</dt><dd>${command ? commandText(command) : 'unknown'}</dd></dl>
${mistake(failure)}
${rehearsalView({ ...report, notes: requests }, marks)}`;
}

function commandText({ exit, timedOut }: NonNullable<Rehearsed['command']>): string {
  if (timedOut) return 'stopped, because it did not end in time';
  return exit === null ? 'ended by a signal' : `exited with ${exit}`;
}

import { CatalogError, invalid } from '../../catalog/error.ts';
import { validator } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import type { ConsoleContext, ConsoleRoute } from '../../operator/frame/context.ts';
import { csrfField, mistake } from '../../operator/frame/element.ts';
import { page } from '../../operator/frame/layout.ts';
import { parseScript } from '../script/script.ts';
import type { Rehearsed } from './note.ts';
import { reachedText } from './report.ts';
import { rehearsalView } from './timeline.ts';

const FILE_BYTES_MAX = 8 * 1024 * 1024;
const REHEARSALS_MAX = 50;

const flag = { type: 'boolean' } as const;
const number = { type: 'number' } as const;
const text = { type: 'string', maxLength: 4_096 } as const;
const textOrNull = { type: ['string', 'null'], maxLength: 4_096 } as const;
const numberOrNull = { type: ['number', 'null'] } as const;

/** A note as `rehearse run --json` prints it. */
const NOTE_MEMBERS = {
  at: number,
  answeredAt: number,
  turnedBy: number,
  method: text,
  route: text,
  target: text,
  body: textOrNull,
  idempotencyKey: textOrNull,
  credentials: textOrNull,
  step: textOrNull,
  isEarly: flag,
  status: numberOrNull,
  retryAfter: numberOrNull,
  isDelivered: flag,
  isDone: flag,
  hasCreated: flag,
} as const;

const Reports = {
  type: 'array',
  maxItems: REHEARSALS_MAX,
  items: {
    type: 'object',
    required: ['keyId', 'script', 'reached', 'requests'],
    properties: {
      keyId: textOrNull,
      script: text,
      reached: { type: 'integer', minimum: 0 },
      requests: {
        type: 'array',
        maxItems: 10_000,
        items: { type: 'object', required: Object.keys(NOTE_MEMBERS), properties: NOTE_MEMBERS },
      },
      remarks: { type: 'array', maxItems: 20, items: text },
      failure: text,
      command: {
        type: 'object',
        required: ['exit', 'timedOut'],
        properties: { exit: numberOrNull, timedOut: flag },
      },
    },
  },
} as const;

const checkReports = validator(Reports);

type ReportFile = Omit<Rehearsed, 'notes'> & { readonly requests: Rehearsed['notes'] };

/** The page that shows the report of a run, whose service or proxy is gone. Nothing of it is kept. */
export const reportRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/rehearsals/report', handle: (context) => formPage(context) },
  { method: 'POST', path: '/rehearsals/report', role: 'viewer', bodyBytesMax: FILE_BYTES_MAX, handle: show },
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

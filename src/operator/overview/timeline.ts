import { hostname } from 'node:os';
import { type AuditEntry, SERVICE_TARGET, type ServiceEvent } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { foreign, utcMoment } from '../frame/element.ts';

const SHOWN_MAX = 10;
/** So many are read, to find the start before each start that is shown. */
const READ_MAX = 100;

/** An event, with the machine that it happened on. */
type Told = ServiceEvent & { readonly on: string };

const WORDS: Readonly<
  Record<ServiceEvent['event'], (members: ServiceEvent['members']) => readonly ['good' | 'danger', string]>
> = {
  started: ({ version }) => ['good', `Started, version ${version}`],
  stopping: () => ['good', 'Stopped'],
  storage_failing: ({ work, reason }) => ['danger', `The database failed: no ${work}s${reason ? ` (${reason})` : ''}`],
  storage_recovered: ({ work }) => ['good', `The database recovered: ${work}s again`],
  limiter_degraded: () => ['danger', 'Redis stopped responding'],
  limiter_recovered: () => ['good', 'Redis responded again'],
  backup_made: () => ['good', 'A backup was made and checked'],
  backup_restored: () => ['good', 'The newest backup was restored on trial'],
  backup_failed: ({ reason }) => ['danger', `A backup failed: ${reason}`],
  database_restored: ({ backup }) => ['danger', `The database was restored from ${backup}`],
  descriptors_exhausted: () => ['danger', 'No descriptor was left'],
  descriptors_freed: () => ['good', 'Descriptors were free again'],
};

/** The latest events in the life of the service, newest first: those that are stored, and those that wait for that. */
export async function timelineSection({ events, storage }: ConsoleContext): Promise<Html> {
  const stored = await storage.audit.list({ since: 0, limit: READ_MAX, target: SERVICE_TARGET }).catch((error) => {
    if (error instanceof CatalogError && error.code === 'unavailable') return [];
    throw error;
  });
  const waiting = events.waiting.map((event) => ({ ...event, on: hostname() }));
  const all: Told[] = [...waiting.reverse(), ...stored.map(toEvent)];
  const machines = new Set(all.map(({ on }) => on));
  const rows = all.slice(0, SHOWN_MAX).map((told, index) => {
    const [tone, words] = WORDS[told.event](told.members);
    const on = machines.size > 1 ? html` <span class="soft">on ${foreign(told.on)}</span>` : '';
    return html`<li><span class="badge ${tone}">${utcMoment(told.at)}</span> ${words}${since(told, all.slice(index + 1))}${on}</li>\n`;
  });
  return html`<section id="timeline" data-live aria-labelledby="timeline-heading">
<h2 id="timeline-heading">Events <small>of all instances, of any release; <a href="/console/audit?target=${SERVICE_TARGET}&since=all">all events</a>, and <a href="/console/audit">what operators changed</a></small></h2>
${rows.length === 0 ? html`<p class="soft">None yet.</p>` : html`<ul class="complaints">${rows}</ul>`}
</section>`;
}

function toEvent({ at, operator, action, after }: AuditEntry): Told {
  return { at, on: operator.actor, event: action as ServiceEvent['event'], members: after as ServiceEvent['members'] };
}

/** The change of version at a start, and its cause if the process before it was not stopped. */
function since({ event, on, members }: Told, earlier: readonly Told[]): string {
  if (event !== 'started') return '';
  const last = earlier.find((each) => each.event === 'started' && each.on === on);
  const was = last && last.members.version !== members.version ? `; it was ${last.members.version} before` : '';
  const end = earlier.find((each) => each.on === on && ['started', 'stopping'].includes(each.event));
  return `${was}${end?.event === 'started' ? '; it had not been stopped' : ''}`;
}

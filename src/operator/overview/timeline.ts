import { type Html, html } from '../../http/html.ts';
import type { LifeEvent } from '../../telemetry/events.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { utcMoment } from '../frame/element.ts';

const SHOWN_MAX = 10;

/** The badge and the words of each event. */
const WORDS: Readonly<Record<LifeEvent['event'], (line: LifeEvent['line']) => readonly ['good' | 'danger', string]>> = {
  started: ({ version }) => ['good', `Started, version ${version}`],
  storage_failing: ({ work, reason }) => ['danger', `The database failed: no ${work}s${reason ? ` (${reason})` : ''}`],
  storage_recovered: ({ work }) => ['good', `The database recovered: ${work}s again`],
  limiter_degraded: () => ['danger', 'Redis stopped responding'],
  limiter_recovered: () => ['good', 'Redis responded again'],
  backup_made: () => ['good', 'A backup was made and checked'],
  backup_restored: () => ['good', 'The newest backup was restored on trial'],
  backup_failed: ({ reason }) => ['danger', `A backup failed: ${reason}`],
  descriptors_exhausted: () => ['danger', 'No descriptor was left'],
  descriptors_freed: () => ['good', 'Descriptors were free again'],
};

/** The latest events in the life of this instance, newest first. */
export function timelineSection({ events }: ConsoleContext): Html {
  const rows = events.life().slice(0, SHOWN_MAX);
  const row = ({ at, event, line }: LifeEvent) => {
    const [tone, words] = WORDS[event](line);
    return html`<li><span class="badge ${tone}">${utcMoment(at)}</span> ${words}</li>\n`;
  };
  return html`<section id="timeline" data-live aria-labelledby="timeline-heading">
<h2 id="timeline-heading">Events <small>of this instance since its start; operators’ changes are in the <a href="/console/audit">audit</a></small></h2>
${rows.length === 0 ? html`<p class="soft">None yet.</p>` : html`<ul class="complaints">${rows.map(row)}</ul>`}
</section>`;
}

import type { UsagePoint } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { count } from '../frame/element.ts';

/** The bars of a trend: the last hour, by five minutes. */
const STEP_SECONDS = 300;
const STEPS = 12;
const BAR_WIDTH = 6;
const BAR_DISTANCE = 8;
const WIDTH = STEPS * BAR_DISTANCE - (BAR_DISTANCE - BAR_WIDTH);
const HEIGHT = 22;

/** The steps of a trend that ends now. */
export function trendSteps(now: number) {
  return { since: now - (now % STEP_SECONDS) - (STEPS - 1) * STEP_SECONDS, step: STEP_SECONDS };
}

/** The last hour of a key: how many requests, and bars by their outcome, drawn to the key's own scale. */
export function trend(points: readonly UsagePoint[], since: number): Html {
  const all = points.reduce((sum, point) => sum + totalOf(point), 0);
  if (all === 0) return html`<span class="soft">none</span>`;
  const scale = HEIGHT / Math.max(...points.map(totalOf));
  const layers = [
    { name: 'served', path: '', of: (point: UsagePoint) => point.served },
    { name: 'failed', path: '', of: (point: UsagePoint) => point.clientErrors + point.serverErrors },
    { name: 'refused', path: '', of: (point: UsagePoint) => point.refused },
  ];
  for (const point of points) {
    const x = Math.floor((point.at - since) / STEP_SECONDS) * BAR_DISTANCE;
    let y = HEIGHT;
    for (const layer of layers) {
      // What there is can be seen, however little.
      const height = layer.of(point) === 0 ? 0 : Math.max(1, Math.round(layer.of(point) * scale));
      if (height > 0) layer.path += `M${x} ${y}h${BAR_WIDTH}v${-height}h${-BAR_WIDTH}z`;
      y -= height;
    }
  }
  const paths = layers.map(({ name, path }) => (path ? html`<path class="${name}" d="${path}"/>` : ''));
  return html`<span class="trend"><svg role="img" viewBox="0 -2 ${WIDTH} ${HEIGHT + 2}" width="${WIDTH}" height="${HEIGHT + 2}"><title>${outcomes(points)}</title>${paths}</svg> ${count(all)}</span>`;
}

/** The counts of a trend in words, without those that are zero. */
function outcomes(points: readonly UsagePoint[]): string {
  const sum = (of: (point: UsagePoint) => number) => points.reduce((total, point) => total + of(point), 0);
  const parts: [number, string][] = [
    [sum(({ served }) => served), 'served'],
    [sum(({ clientErrors }) => clientErrors), 'client errors (4xx)'],
    [sum(({ serverErrors }) => serverErrors), 'server errors (5xx)'],
    [sum(({ refused }) => refused), 'refused (429)'],
  ];
  const words = parts.filter(([number]) => number > 0).map(([number, name]) => `${count(number)} ${name}`);
  return `The last hour, by five minutes: ${words.join(', ')}`;
}

function totalOf({ served, clientErrors, serverErrors, refused }: UsagePoint): number {
  return served + clientErrors + serverErrors + refused;
}

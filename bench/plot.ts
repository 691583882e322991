import { number, type Spread } from './statistics.ts';

const WIDTH = 640;
const HEIGHT = 320;
const LEFT = 90;
const RIGHT = 30;
const TOP = 40;
const BOTTOM = 50;
/** From so many times the least on, the upward axis is logarithmic too. */
const LOG_FROM = 20;

export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly points: readonly { readonly x: number; readonly y: Spread }[];
}

/** Draws a curve over a logarithmic axis as SVG, each point with its spread. */
export function plotSvg({ title, x, y, points }: Plot): string {
  const across = scale(logarithm(points.map((point) => point.x)), [LEFT, WIDTH - RIGHT], true);
  const top = Math.max(...points.map((point) => point.y.max));
  const low = Math.min(...points.map((point) => point.y.min));
  const isLog = top / low >= LOG_FROM;
  const upRange: [number, number] = isLog ? logarithm([low, top]) : [0, top * 1.1];
  const up = scale(upRange, [HEIGHT - BOTTOM, TOP], isLog);
  const ticks = isLog ? powersBetween(low, top) : [0, 0.25, 0.5, 0.75, 1].map((share) => share * top);

  const line = points.map((point) => `${across(point.x)},${up(point.y.median)}`).join(' ');
  const rules = ticks.map(
    (tick) =>
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${up(tick)}" y2="${up(tick)}" stroke="#ddd"/>` +
      text(LEFT - 8, up(tick) + 4, number(tick), 'end'),
  );
  const marks = points.map((point) => {
    const at = across(point.x);
    return (
      `<line x1="${at}" x2="${at}" y1="${up(point.y.min)}" y2="${up(point.y.max)}" stroke="#0b5fa5" stroke-width="2"/>` +
      `<circle cx="${at}" cy="${up(point.y.median)}" r="4" fill="#0b5fa5"/>` +
      text(at, HEIGHT - BOTTOM + 18, number(point.x), 'middle')
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${title}: ${y} by ${x}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...rules,
    `<polyline points="${line}" fill="none" stroke="#0b5fa5" stroke-width="2"/>`,
    ...marks,
    text(LEFT, TOP - 18, y, 'start'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x, 'middle'),
    '</svg>',
    '',
  ].join('\n');
}

/** Places a value of a range, which may be one of logarithms, between two pixels. */
function scale(
  [from, to]: [number, number],
  [start, end]: [number, number],
  isLog: boolean,
): (value: number) => number {
  return (value) => {
    const share = to === from ? 0.5 : ((isLog ? Math.log10(value) : value) - from) / (to - from);
    return Math.round((start + share * (end - start)) * 10) / 10;
  };
}

function logarithm(values: readonly number[]): [number, number] {
  return [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
}

function powersBetween(low: number, high: number): number[] {
  const powers: number[] = [];
  for (let power = 10 ** Math.ceil(Math.log10(low)); power <= high; power *= 10) powers.push(power);
  return powers;
}

function text(x: number, y: number, words: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#333">${words}</text>`;
}

import { countOf, type Suite } from './write.ts';

const HEIGHT_PX = 20;
const CHARACTER_PX = 7;
const [GOOD, BAD] = ['#1b6e3c', '#b3261e'];

/** A verdict in two words, as SVG. */
export function badgeOf(suites: readonly Suite[]): string {
  const broken = suites.reduce((sum, { verdicts }) => sum + countOf(verdicts, 'failed'), 0);
  const words = ['api-referee', broken === 0 ? 'kept' : `${broken} broken`];
  const [left = 0, right = 0] = words.map(({ length }) => (length + 2) * CHARACTER_PX);
  const box = (x: number, width: number, colour: string, text: string) =>
    `<rect x="${x}" width="${width}" height="${HEIGHT_PX}" fill="${colour}"/>` +
    `<text x="${x + width / 2}" y="14" fill="#fff" text-anchor="middle">${text}</text>`;
  const boxes = box(0, left, '#3a4250', `${words[0]}`) + box(left, right, broken === 0 ? GOOD : BAD, `${words[1]}`);
  const size = `width="${left + right}" height="${HEIGHT_PX}" role="img" aria-label="${words.join(': ')}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11">${boxes}</svg>`;
}

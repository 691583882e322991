import { number } from './statistics.ts';

/** A point of a curve: medians of its rounds. */
export interface Point {
  readonly x: number;
  readonly perSecond: number;
  readonly mbPerSecond: number;
}

/** The expected shape of a curve, and the text for whether it fits. */
export interface Shape {
  readonly expected: string;
  /** The vertical axis. */
  readonly y: 'requests per second' | 'microseconds per answer';
  judge(points: readonly Point[]): { readonly holds: boolean; readonly sentence: string };
}

/** The rate does not depend on x. */
export function flat(what: string, atLeast: number): Shape {
  return {
    expected: `flat: the rate does not depend on ${what}`,
    y: 'requests per second',
    judge(points) {
      const [first, last] = ends(points);
      const ratio = last.perSecond / first.perSecond;
      return {
        holds: ratio >= atLeast,
        sentence: `${number(last.x)} run at ${ratio.toFixed(2)} of the rate of ${number(first.x)} (${atLeast} or more is flat)`,
      };
    },
  };
}

/** The time of an answer is a constant and a share for each byte. */
export function linear(what: string): Shape {
  const slack = 1.3;
  return {
    expected: `a constant for a short answer, then in proportion to ${what}`,
    y: 'microseconds per answer',
    judge(points) {
      const [, last] = ends(points);
      const before = points.at(-2) ?? last;
      const bytes = last.mbPerSecond / last.perSecond / (before.mbPerSecond / before.perSecond);
      const time = before.perSecond / last.perSecond;
      return {
        holds: time <= bytes * slack,
        sentence: `from ${number(before.x)} to ${number(last.x)} an answer has ${bytes.toFixed(1)} times the bytes and takes ${time.toFixed(1)} times as long`,
      };
    },
  };
}

/** The rate rises until the core is busy and stays there. */
export function saturating(busyFrom: number, atLeast: number): Shape {
  return {
    expected: `rising to ${busyFrom}, then flat: the core is busy and more connections only wait`,
    y: 'requests per second',
    judge(points) {
      const best = Math.max(...points.map(({ perSecond }) => perSecond));
      const busy = points.filter(({ x }) => x >= busyFrom);
      const worst = busy.reduce((low, point) => (point.perSecond < low.perSecond ? point : low));
      const ratio = worst.perSecond / best;
      return {
        holds: ratio >= atLeast,
        sentence: `from ${busyFrom} on the slowest, ${number(worst.x)}, runs at ${ratio.toFixed(2)} of the best rate (${atLeast} or more is flat)`,
      };
    },
  };
}

function ends(points: readonly Point[]): [Point, Point] {
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last) throw new Error('The curve has no points');
  return [first, last];
}

import { head, isLimited, type Lying, REFUSED, REMAINING, say } from './lie.ts';
import { bucket, clockWindow, slidingLog } from './limiter.ts';
import type { Answer, Asked } from './server.ts';

const isLast = (asked: Asked, { headers }: Answer) => isLimited(asked) && headers[REMAINING] === 0;

/** Limiters that are right, each in a way of its own. */
export const HONEST: Readonly<Record<string, Lying>> = {
  'a token bucket': { limiter: bucket() },
  'a token bucket that tells the next token': { limiter: bucket(undefined, (now) => Math.ceil(now) + 1) },
  'a token bucket that tells a minute from now': {
    limiter: bucket(undefined, (now) => Math.floor(now) + 60),
    ...head(REFUSED, 'retry-after', () => 1),
  },
  'a bucket with a burst below the rate': { limiter: bucket(15) },
  'a failure in place of the last token': say({ status: 200, when: isLast }, (answer) => {
    answer.status = 503;
  }),
  'a sliding window': { limiter: slidingLog },
  'minutes of the wall clock': { limiter: clockWindow() },
  'days only': { limiter: clockWindow(86_400) },
  'a limit of 7': { limit: 7 },
  'HTTP/1.0, a connection for each answer': { isOld: true },
  'one connection for each answer': say({}, ({ headers }) => {
    headers.connection = 'close';
  }),
  'one connection at a time, kept alive': { isSerial: true },
  'dates in Retry-After, and every Date': head(REFUSED, 'retry-after', (wait, { now }) =>
    new Date((Math.floor(now) + Number(wait)) * 1000).toUTCString(),
  ),
  'a refusal that tells nothing of when': head(REFUSED, 'retry-after'),
  'Retry-After rounded up by two': head(REFUSED, 'retry-after', (wait) => Number(wait) + 2),
  'no Date': { hasNoDate: true },
  '50 ms, and a bucket': { latencySeconds: 0.05, limiter: bucket() },
  '90 ms, and a bucket that gives 180 a minute': { latencySeconds: 0.09, limit: 180, limiter: bucket() },
  '100 ms, and a bucket without Date': { latencySeconds: 0.1, limiter: bucket(), hasNoDate: true },
  '250 ms, and a bucket': { latencySeconds: 0.25, limiter: bucket() },
  '2 s for each answer': { latencySeconds: 2 },
  '5 s for each answer': { latencySeconds: 5 },
  'one in twenty is 503': { failsEvery: 20 },
  'one in ten is 503': { failsEvery: 10 },
  'one in twenty fails by chance, with 503 or without an answer': { seed: 7_919 },
  'one in nine answers is counted, then 503': say(
    { status: 200, when: (asked) => isLimited(asked) && asked.state.requests % 9 === 0 },
    (answer) => {
      answer.status = 503;
    },
  ),
};

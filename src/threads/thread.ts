import { type MessagePort, Worker } from 'node:worker_threads';
import type { Change } from '../catalog/storage.ts';
import { Health } from '../http/health.ts';
import { type Listener, openListener } from '../http/transport/listener.ts';
import { createPublicApi, withRecords } from '../public-api.ts';
import type { Clock } from '../stdx/clock.ts';
import { answerRecorder, type Events } from '../telemetry/events.ts';
import { RecentRequests } from '../telemetry/recent-requests.ts';
import { UsageRecorder } from '../telemetry/usage.ts';
import { AnswerCounts } from './answer-counts.ts';
import { Channel } from './channel.ts';
import { monotonicClock, threadClock } from './clock.ts';
import { distantDesk, distantEvents, distantStorage } from './distant.ts';
import { PooledUnsentBytes } from './pooled-unsent-bytes.ts';
import type { MainPromises, ThreadData, ThreadPromises } from './promises.ts';
import { SharedLimiter } from './shared-limiter.ts';

/** How old the metrics of the main thread are at most. */
const COUNT_INTERVAL_MS = 200;
/** A text instead of a file, so that the packed service needs no second entry. */
const ENTRY = `
  const { parentPort, workerData: { module, data } } = require('node:worker_threads');
  import(module).then(({ runThread }) => runThread(parentPort, data));
`;

/** Starts a thread that serves requests; `module` exports the `runThread` that it runs. */
export function startThread(data: ThreadData, module = import.meta.url): Worker {
  return new Worker(ENTRY, { eval: true, workerData: { module, data } });
}

/** Runs in a thread: serves the public API, with the main thread behind the port for everything that is written. */
export function runThread(port: MessagePort, data: ThreadData, clock: Clock = threadClock(data.clock)): void {
  const { config, memory, accessLog } = data;
  let onChange = async (_change: Change) => {};
  let listener: Listener | undefined;
  const own: ThreadPromises = {
    load: async () => {
      await loading;
    },
    async open(address) {
      const { serve } = await loading;
      await listener?.stop(0);
      listener = await openListener(serve, { clock, events, unsent }, address);
      return listener.port;
    },
    announce: async (url) => (await loading).announce(url),
    follow: (change) => onChange(change),
    async add(added) {
      const { categories, catchUp } = await loading;
      // As for a create of this thread: behind a gap in the ids it is read with those before it.
      if (!added.every((category) => categories.append(category))) await catchUp().catch(() => {});
    },
    replaceCertificate: (certificate) => listener?.replaceCertificate(certificate),
    findRecent: (requestId) => recent.find(requestId),
    listRecent: (query) => recent.list(query),
    heaviestBytes: () => unsent.heaviestBytes,
    cutOffHeaviest: () => unsent.cutOffHeaviest(),
    async closePort() {
      health.stop();
      await listener?.closePort();
    },
    async stop(graceMs) {
      await listener?.stop(graceMs);
      await usage[Symbol.asyncDispose]();
      clearInterval(counting);
      count();
    },
  };
  const main = new Channel<MainPromises>(port, own);
  const storage = distantStorage(main, (called) => {
    onChange = called;
  });
  const limiter = new SharedLimiter({ memory, clock, desk: distantDesk(main), banAfter: config.banAfterRefusals });
  const health = new Health(storage, limiter, { usesRedis: false });
  const unsent = new PooledUnsentBytes(data.unsent, () => main.tell('relieve'));
  const recent = new RecentRequests(monotonicClock());
  const counts = new AnswerCounts();
  const told = distantEvents(main, data.events);
  const usage = new UsageRecorder({ storage, clock, onFailure: told.usageNotStored });
  const count = () => {
    const answers = counts.take();
    if (answers) main.tell('count', answers);
  };
  const counting = setInterval(count, COUNT_INTERVAL_MS).unref();
  const answered = answerRecorder({
    write: lineWriter((lines) => main.tell('write', lines)),
    accessLog,
    metrics: counts,
  });
  const events: Events = withRecords({ ...told, requestAnswered: answered }, { usage, recent, clock });
  const loading = createPublicApi(config, { storage, limiter, clock, events, health });
  // Told to the main thread, which asks for it.
  loading.catch(() => {});
}

/** Joins the lines of one turn of the event loop. */
function lineWriter(write: (lines: string) => void): (line: string) => void {
  let lines = '';
  return (line) => {
    if (lines === '') {
      setImmediate(() => {
        const text = lines;
        lines = '';
        write(text);
      });
    }
    lines += line;
  };
}

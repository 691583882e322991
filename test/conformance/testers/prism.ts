import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { judge } from '../../../src/conformance/referee.ts';
import { freePort } from '../../kit/deploy/port.ts';
import { CONTRACT, startTool, type Tester } from './tester.ts';

/** Prism, which validates what passes through it; the referee's requests do, as Prism sends none of its own. */
export const PRISM: Tester = {
  name: 'Prism',
  packages: ['@stoplight/prism-cli'],
  command: 'prism proxy openapi.json URL; its violations of responses, under the requests of the referee',
  atOnce: 2,
  async run(target) {
    const { service, key } = target;
    const port = await freePort();
    const prism = startTool(target, { name: 'prism', args: ['proxy', CONTRACT, service.url, '-p', `${port}`] });
    const { promise: isListening, resolve, reject } = Promise.withResolvers<void>();
    void prism.exited.then(() => reject(new Error('Prism ended')));
    const found = new Set<string>();
    createInterface(prism.output as Readable).on('line', (line) => {
      if (/listening on/i.test(line)) resolve();
      const [, violation] = /Violation: (response\S* .*)/.exec(line) ?? [];
      if (violation !== undefined) found.add(violation.replaceAll(/\d+/g, 'N'));
    });
    try {
      await isListening;
      const limited = await service.issue();
      await judge({
        url: new URL(`http://127.0.0.1:${port}`),
        key,
        limitedKey: limited.secret,
        otherEnvironmentKey: undefined,
        level: 'ours',
        isFull: false,
        concurrency: 16,
        pace: {
          now: () => performance.now() / 1_000,
          wait: (seconds) => new Promise((done) => setTimeout(done, seconds * 1_000)),
        },
      });
    } finally {
      await prism.end();
    }
    return [...found];
  },
};

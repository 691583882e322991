import { AssertionError } from 'node:assert';
import { askedBy, type ProxyFlags, proxyOf } from './cli/options.ts';
import { learnedFrom, UNKNOWN_CLIENT } from './client/learned.ts';
import type { Play } from './client/note.ts';
import { type ClientReport, reportOn } from './client/report.ts';
import type { RuleName } from './client/rules.ts';

export type { RuleName };

import { openProxy } from './proxy/proxy.ts';

/** The options of `api-referee client` that are about the API, in camelCase. */
export interface RefereeOptions extends ProxyFlags {
  /** The base address of the API. */
  readonly upstream: string;
}

/** A proxy in the process of a test. */
export interface Referee extends AsyncDisposable {
  /** Where the client finds the API. */
  readonly url: string;
  /**
   * Plays a script while `work` uses the client, and judges what came. A `work` that rejects is a client that reports a
   * failure. A play of `ok` is learned from: what the client sends when all is well is not held against it later.
   */
  play(script: string, work: (url: string) => unknown): Promise<ClientReport>;
  /** Judges all plays so far together. */
  verdict(): ClientReport;
  end(): Promise<void>;
}

/** Starts a proxy before an API. Rejects if an option or the address is wrong. */
export async function startReferee(options: RefereeOptions): Promise<Referee> {
  const wanted = { ...askedBy(options), isPartialAllowed: true, isFailureAllowed: true };
  const proxy = await openProxy({ ...proxyOf(options), upstream: options.upstream, script: 'ok' });
  const plays: Play[] = [];
  const runs: Play['requests'][] = [];
  const judged = (some: readonly Play[]) => {
    const learned = runs.length > 0 ? learnedFrom(runs) : UNKNOWN_CLIENT;
    const played = { plays: some, planned: some.length, durationMs: 0, learned, isWhole: false, left: [] };
    return reportOn({ ...played, isScripted: true }, wanted);
  };
  const end = async () => void (await proxy.end());
  return {
    url: proxy.url,
    async play(script, work) {
      await proxy.next(script);
      const exit = await (async () => work(proxy.url))().then(
        () => 0,
        () => 1,
      );
      const play = { ...(await proxy.next('ok')), command: { exit, timedOut: false } };
      plays.push(play);
      if (script === 'ok' && exit === 0) runs.push(play.requests);
      return judged([play]);
    },
    verdict: () => judged(plays),
    end,
    [Symbol.asyncDispose]: end,
  };
}

/** Throws `AssertionError` unless rules were tested and kept; without rules, if any is broken. */
export function assertKept(report: ClientReport, ...rules: readonly RuleName[]): void {
  const faults = faultsOf(report, rules);
  if (faults.length > 0) throw new AssertionError({ message: faults.join('\n') });
}

/** Matchers of Vitest and Jest: `expect.extend(matchers)`, then `expect(report).toKeep('once', 'waits')`. */
export const matchers = {
  toKeep(report: ClientReport, ...rules: readonly RuleName[]) {
    const faults = faultsOf(report, rules);
    const text = faults.length > 0 ? faults.join('\n') : `${rules.join(', ') || 'every tested rule'} was kept`;
    return { pass: faults.length === 0, message: () => text };
  },
};

function faultsOf({ rules: cells, exit }: ClientReport, wanted: readonly RuleName[]): string[] {
  if (exit.code === 2) return [exit.reason];
  const broken = cells.filter(({ rule, verdict }) => {
    return wanted.length === 0 ? verdict === 'broken' : wanted.includes(rule) && /^(broken|no)$/.test(verdict);
  });
  const untested = wanted.filter((name) =>
    cells.every(({ rule, verdict }) => rule !== name || verdict === 'not tested'),
  );
  return [
    ...broken.map(({ rule, kind, evidence, fix }) =>
      [`${rule} for ${kind} is broken`, ...evidence, `fix: ${fix}`].join('\n  '),
    ),
    ...untested.map((rule) => `${rule} was never tested`),
  ];
}

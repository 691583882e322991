import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { learnedFrom } from '../../src/client/learned.ts';
import type { Play } from '../../src/client/note.ts';
import { planFor } from '../../src/client/plan.ts';
import { type Asked, type ClientReport, reportOn } from '../../src/client/report.ts';
import { isDoubtful, USUAL_CUSTOMS } from '../../src/client/rules.ts';
import { openProxy, type ProxyOptions } from '../../src/proxy/proxy.ts';
import { things } from './api.ts';
import { standing } from './upstream.ts';

const LEARNING_RUNS = 2;
const LEARNING_TRIES = 6;

export const ASKED: Asked = {
  customs: USUAL_CUSTOMS,
  skipped: [],
  only: [],
  isRecoveryRequired: false,
  isStrict: false,
  isFailureAllowed: false,
  isPartialAllowed: false,
  expected: [],
};

export interface StageOptions {
  readonly asked?: Partial<Asked>;
  readonly api?: () => RequestListener;
  /** The address of an API that is there, in place of one for each play. */
  readonly upstream?: string;
  readonly playsMax?: number;
  readonly isWhole?: boolean;
  readonly proxy?: Partial<ProxyOptions>;
  /** How many plays run side by side. */
  readonly jobs?: number;
}

/** A client that did not end in time. */
export class NotEnded extends Error {}

/**
 * Learns, plans and judges as the command does, with a client in this process, and plays side by side: each has an API
 * of its own, and mostly waits.
 */
export async function judged(
  client: (url: string) => Promise<void>,
  options: StageOptions = {},
): Promise<ClientReport> {
  const { asked = {}, api = things, upstream: address, playsMax = 24, isWhole = false, proxy = {}, jobs = 8 } = options;
  const wanted = { ...ASKED, ...asked };
  const play = async (script: string): Promise<Play> => {
    await using upstream = address === undefined ? await standing(createServer(api())) : undefined;
    await using opened = await openProxy({ ...proxy, upstream: address ?? upstream?.url ?? '', script });
    const command = await client(opened.url).then(
      () => ({ exit: 0, timedOut: false }),
      (error: Error) => ({ exit: 1, timedOut: error instanceof NotEnded }),
    );
    return { ...(await opened.end()), command };
  };
  const runs: Play[] = [];
  // A busy machine may take longer than the client waits.
  for (let tries = 0; runs.length < LEARNING_RUNS && tries < LEARNING_TRIES; tries += 1) {
    const run = await play('ok');
    if (run.command?.exit === 0) runs.push(run);
  }
  assert.equal(runs.length, LEARNING_RUNS, 'the client fails without a fault');
  const learned = learnedFrom(runs.map(({ requests }) => requests));
  const planned = planFor(learned, wanted.customs, isWhole);
  const chosen = isWhole ? planned : planned.slice(0, playsMax).filter(({ script }) => !script.startsWith('limit:8'));
  const plays: Play[] = [];
  const queue = [...chosen.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [place, { script }] = next;
      const first = await play(script);
      plays[place] = isDoubtful(first, learned, wanted.customs) ? await play(script) : first;
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const left = planned.slice(chosen.length).map(({ kind }) => kind);
  return reportOn({ plays, planned: planned.length, durationMs: 0, learned, isScripted: false, isWhole, left }, wanted);
}

/** The broken cells of a report, each with its first piece of evidence. */
export function brokenIn({ rules }: ClientReport): string[] {
  return rules
    .filter(({ verdict }) => verdict === 'broken')
    .map(({ rule, kind, evidence }) => `${rule} for ${kind}: ${evidence[0]}`);
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BENCH, LOAD_CORE, pinned } from './machine.ts';

const LIST_PATH = '/v1/categories';
const CREATE_BODY = JSON.stringify({ name: 'Dog', description: 'Loyal, social, needs walks' });

/** Calls that are sent in turn, over so many connections, each answered with the same status. */
export interface Load {
  readonly callsFile: string;
  readonly calls: number;
  readonly connections: number;
  readonly status: 200 | 201;
}

/** Writes a load of lists, or of creates, with these keys in turn. */
export function loadOf(
  kind: 'list' | 'create',
  { secrets, connections, folder }: { secrets: readonly string[]; connections: number; folder: string },
): Load {
  const callsFile = join(folder, `calls-${process.hrtime.bigint()}`);
  const rest = kind === 'list' ? ['', ''] : ['', CREATE_BODY];
  const method = kind === 'list' ? 'GET' : 'POST';
  writeFileSync(callsFile, secrets.map((key) => `${[method, LIST_PATH, key, ...rest].join('\t')}\n`).join(''));
  return { callsFile, calls: secrets.length, connections, status: kind === 'list' ? 200 : 201 };
}

/** The results of a load. */
export interface Measured {
  readonly requests: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Sends a load for so many seconds, with wrk. Throws if an answer was missing or another than it should be. */
export async function measure(
  origin: string,
  { callsFile, connections, status }: Load,
  seconds: number,
): Promise<Measured> {
  const wrk = ['wrk', '-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', '10s'];
  const [command = '', ...args] = pinned(LOAD_CORE, [...wrk, '-s', join(BENCH, 'wrk.lua'), origin, '--', callsFile]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  const figures = /^BENCH (.*)$/m.exec(output)?.[1];
  if (!figures) throw new Error(`wrk told no figures: ${output}`);
  const { requests, broken, refused, p99Ms, ...measured } = JSON.parse(figures);
  if (requests === 0 || broken + refused > 0)
    throw new Error(`Of ${requests} requests to ${origin} ${broken} broke off, and ${refused} were no ${status}`);
  return { requests, perSecond: requests / measured.seconds, p99Ms };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { BENCH, type Machine } from './machine.ts';
import { installed, pinned } from './servers.ts';

/** The core that makes the load; the servers have the other. */
const LOAD_CORE = 0;

/** One request of a load. */
export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The secret; none is sent if it is absent. */
  readonly key?: string;
  readonly ifNoneMatch?: string;
  readonly body?: string;
}

export interface Load {
  readonly origin: string;
  /** A file that `writeCalls` wrote; its calls are sent in turn. */
  readonly callsFile: string;
  readonly connections: number;
  readonly seconds: number;
}

/** What came of a load. */
export interface Measured {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  /** Answers of 400 and above. */
  readonly refused: number;
  readonly broken: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Writes calls to a file for the load generator. */
export function writeCalls(file: string, calls: readonly Call[]): string {
  const lines = calls.map(({ method, path, key = '', ifNoneMatch = '', body = '' }) =>
    [method, path, key, ifNoneMatch, body].join('\t'),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/**
 * Sends every call once, over so many connections, and returns how many were answered with 200 and in how many seconds.
 * No load generator does that, and none is needed: what is sent for the first time is slow to answer.
 */
export async function sendOnce(origin: string, calls: readonly Call[], connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const startedMs = performance.now();
  let [begun, good] = [0, 0];
  const work = async () => {
    for (let call = calls[begun++]; call; call = calls[begun++]) {
      const headers = { authorization: `Bearer ${call.key}` };
      const sent = request(origin + call.path, { agent, method: call.method, headers }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      if (response.statusCode === 200) good += 1;
      response.resume();
      await once(response, 'end');
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  agent.destroy();
  return { good, seconds: (performance.now() - startedMs) / 1000 };
}

/** Sends calls in turn for so many seconds, with wrk if it is installed, else with autocannon. */
export async function measure(machine: Machine, load: Load): Promise<Measured> {
  const { origin, callsFile, connections, seconds } = load;
  const [command = '', ...args] = pinned(
    machine,
    LOAD_CORE,
    machine.wrk
      ? [
          ...['wrk', '-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', '10s'],
          ...['-s', join(BENCH, 'load', 'wrk.lua'), origin, '--', callsFile],
        ]
      : [process.execPath, autocannon(), origin, callsFile, `${connections}`, `${seconds}`],
  );
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  const figures = /^BENCH (.*)$/m.exec(output)?.[1];
  if (!figures) throw new Error(`The load generator told no figures: ${output}`);
  const measured: Measured = JSON.parse(figures);
  if (measured.broken > 0) throw new Error(`${measured.broken} requests to ${origin} were not answered`);
  return measured;
}

function autocannon(): string {
  const folder = join(BENCH, 'load');
  if (!existsSync(join(folder, 'node_modules')) && !installed(folder)) {
    throw new Error('There is neither wrk nor a way to install autocannon: install wrk (Debian: apt install wrk)');
  }
  return join(folder, 'autocannon.js');
}

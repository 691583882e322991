import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { BENCH, type Machine } from './machine.ts';
import { installed, pinned } from './servers.ts';

/** The core of the load generator; the servers have the other. */
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

/** The results of a load. */
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
 * Load generators cannot do that; one is not needed, as first requests are slow to answer.
 */
export async function sendOnce(origin: string, calls: readonly Call[], connections: number) {
  const { hostname, port } = new URL(origin);
  const startedMs = performance.now();
  let [begun, good] = [0, 0];
  const work = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }).setEncoding('latin1');
    const texts: AsyncIterator<string> = socket[Symbol.asyncIterator]();
    for (let call = calls[begun++]; call; call = calls[begun++]) {
      socket.write(`${call.method} ${call.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${call.key}\r\n\r\n`);
      if ((await answer(texts)).startsWith('HTTP/1.1 200 ')) good += 1;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { good, seconds: (performance.now() - startedMs) / 1000 };
}

/** The next answer that comes, whose length its head must tell. Throws if the connection ends before it is whole. */
async function answer(texts: AsyncIterator<string>): Promise<string> {
  let text = '';
  for (;;) {
    const { value, done } = await texts.next();
    if (done) throw new Error(`The connection was closed within an answer: ${text}`);
    text += value;
    const head = text.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
    if (head >= 0 && length === undefined) throw new Error(`An answer does not tell its length: ${text}`);
    if (head >= 0 && text.length >= head + 4 + Number(length)) return text;
  }
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

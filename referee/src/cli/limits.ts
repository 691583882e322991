import type { Command } from 'commander';
import { judgeLimit, type LimitRequest } from '../limits/limits.ts';
import { limitsSuite } from '../limits/suite.ts';
import { realPace } from '../limits/trial.ts';
import { Mistake } from '../mistake.ts';
import { requireLocal } from '../proxy/upstream.ts';
import { collect, type Invocation, readCount } from './invocation.ts';
import { type OutputOptions, openOutput, withOutput } from './output.ts';

const REQUEST = /^([A-Z]+) (\/\S*)(?: (.+))?$/s;
const HEADER = /^([\w-]+)[:=]\s*([\x20-\x7e]+)$/;

interface Options extends OutputOptions {
  readonly request?: string;
  readonly second?: string;
  readonly header?: readonly string[];
  readonly otherHeader?: readonly string[];
  readonly headers?: string;
  readonly refused: string;
  readonly window?: string;
  readonly max: string;
  readonly concurrency: string;
  readonly full?: true;
  readonly remote?: true;
}

/** Adds `limits`. */
export function addLimitsCommand(program: Command, invocation: Invocation): void {
  withOutput(program.command('limits <url>'))
    .description('Judge the rate limit of any API: that it keeps what its headers say')
    .option(
      '--request <request>',
      "the request that is counted, such as 'GET /search?q=a'; by default a GET of the address",
    )
    .option('--header <header>', "a header of every request, such as 'X-Api-Key: K'; repeatable", collect)
    .option('--second <request>', `another request that counts in the same limit, such as 'POST /things {"a":1}'`)
    .option('--other-header <header>', 'a header of another caller, with a limit of its own; repeatable', collect)
    .option('--headers <names>', 'the headers of limit, remaining and reset, if they have other names')
    .option('--refused <statuses>', 'the statuses of a refusal', '429, 403, 503')
    .option('--window <seconds>', 'the time in which the requests come back, if no header tells it')
    .option('--max <count>', 'never send more requests', '300')
    .option('--concurrency <count>', 'how many requests ask for the last token at once', '16')
    .option('--full', 'also judge what must wait for a window')
    .option('--remote', 'allow an address outside this machine and private networks')
    .action(async (address: string, options: Options) => {
      using output = openOutput(options, invocation);
      const { report, failure } = await run(address, options, invocation);
      output.write([limitsSuite(report)], report);
      if (failure !== undefined) throw new Mistake(failure);
      if (report.failed > 0) throw new Mistake('', 1);
    });
}

async function run(address: string, options: Options, invocation: Invocation) {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol) || url.hash || url.username) {
    throw new Mistake(`The address is "${address}"; write one such as http://127.0.0.1:3000/api`);
  }
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const max = readCount(options.max, '--max', { min: 10, max: 100_000 });
  if (!options.remote) await requireLocal(hostname, 'The API', `up to ${max} requests are sent there`);
  const headers = readHeaders('--header', options.header);
  const usual: LimitRequest = { path: `${url.pathname.endsWith('/') ? '/' : ''}${url.search}`, headers };
  const first = options.request === undefined ? usual : readRequest('--request', options.request, headers);
  url.search = '';
  const other = readHeaders('--other-header', options.otherHeader);
  const names = options.headers?.split(/[ ,]+/);
  if (names && names.length !== 3) throw new Mistake('--headers are not three names, of limit, remaining and reset');
  return judgeLimit({
    url,
    first,
    second: options.second === undefined ? undefined : readRequest('--second', options.second, headers),
    stranger: options.otherHeader && { ...first, headers: { ...first.headers, ...other } },
    headers: names,
    refused: options.refused.split(/[ ,]+/).map((text) => readCount(text, '--refused', { min: 400, max: 599 })),
    windowSeconds:
      options.window === undefined ? undefined : readCount(options.window, '--window', { min: 1, max: 1e6 }),
    requestsMax: max,
    isFull: options.full === true,
    concurrency: readCount(options.concurrency, '--concurrency', { min: 2, max: 200 }),
    pace: realPace(invocation.progress),
  });
}

function readRequest(option: string, text: string, headers: LimitRequest['headers']): LimitRequest {
  const [, method, path, body] = REQUEST.exec(text) ?? [];
  if (method === undefined || path === undefined) {
    throw new Mistake(`${option} is "${text}"; write a method and a path, such as 'GET /search?q=a'`);
  }
  if (body === undefined) return { method, path, headers };
  return { method, path, body, headers: { 'content-type': 'application/json', ...headers } };
}

function readHeaders(option: string, lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = HEADER.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw new Mistake(`${option} is no header of ASCII characters; write one such as 'X-Api-Key: K'`);
      }
      return [name.toLowerCase(), value.trim()];
    }),
  );
}

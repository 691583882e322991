import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Command } from 'commander';
import { UNKNOWN_CLIENT } from '../client/learned.ts';
import type { Play } from '../client/note.ts';
import { type Asked, type ClientReport, reportOn } from '../client/report.ts';
import { clientSuite } from '../client/suite.ts';
import { Mistake } from '../mistake.ts';
import { credentialsOf } from '../proxy/headers.ts';
import { type Callers, openProxy } from '../proxy/proxy.ts';
import { coloured, textOf } from '../report/write.ts';
import type { Invocation } from './invocation.ts';
import { askedBy, type ProxyFlags, proxyOf, readOptions, withProxyOptions } from './options.ts';

const VERDICTS = /^\/\.referee(\?.*)?$/;
const LOOPBACK = /^(::ffff:)?127\.|^::1$/;
/** Faults for whatever client comes: each call meets some, and ends well when it is repeated. */
const USUAL = 'limit:1@2.GET,lost@POST,error*2@4.GET,unavailable:1@3.POST,cut@7.GET,lost@PUT,lost@PATCH,lost@DELETE';
const PRINTED_MAX = 20;

/** Adds `proxy`. */
export function addProxyCommand(program: Command, invocation: Invocation): void {
  withProxyOptions(program.command('proxy [script]'))
    .description(
      'Play a script to each caller, by its credentials, until it is stopped; /.referee on it has the verdict as JSON',
    )
    .option('--listen <address>', 'HOST:PORT', '127.0.0.1:0')
    .option('--json', 'print JSON: a line with the addresses, and at the end one with the verdicts')
    .action(async (script: string = USUAL, _: object, self: Command) => {
      const options = readOptions<ProxyFlags & { readonly listen: string; readonly json?: true }>(self);
      const { upstream, json } = options;
      if (upstream === undefined) throw new Mistake('--upstream is missing; name the base address of the API');
      const wanted = { ...askedBy(options), isPartialAllowed: true };
      const serve = (request: IncomingMessage, response: ServerResponse, callers: () => Callers) =>
        serveVerdicts(request, response, { callers, wanted });
      const own = { ...proxyOf(options), ...readAddress(options.listen) };
      await using proxy = await openProxy({ ...own, upstream, script, hasCallers: true, serve }).catch((error) => {
        throw error instanceof Mistake ? error : new Mistake(`--listen ${options.listen}: ${error.message}`);
      });
      const at = { url: proxy.url, verdicts: new URL('/.referee', proxy.url).href };
      invocation.print(json ? JSON.stringify(at) : `listening on ${at.url}; verdicts on ${at.verdicts}`);
      if (!invocation.stop.aborted) await once(invocation.stop, 'abort');
      printAll([...(await proxy.endAll()).values()], { wanted, invocation, json });
    });
}

function printAll(
  plays: readonly Play[],
  { wanted, invocation, json }: { wanted: Asked; invocation: Invocation; json: true | undefined },
): void {
  const reports = plays.map((play) => reportOf(play, wanted));
  if (json) invocation.print(JSON.stringify({ callers: reports }));
  for (const report of json ? [] : reports.slice(0, PRINTED_MAX)) {
    const text = textOf(clientSuite(report, wanted.customs));
    invocation.print(invocation.hasColours() ? coloured(text) : text);
  }
  if (!json && reports.length > PRINTED_MAX) invocation.print(`and ${reports.length - PRINTED_MAX} more callers`);
  const codes = reports.map(({ exit }) => exit.code);
  const worst = codes.includes(2) ? 2 : Math.max(0, ...codes);
  if (worst !== 0) throw new Mistake('', worst);
}

function reportOf(play: Play, wanted: Asked): ClientReport {
  const [first, last] = [play.requests[0], play.requests.at(-1)];
  const durationMs = first && last ? Math.round(last.answeredAt - first.at) : 0;
  return reportOn(
    { plays: [play], planned: 1, durationMs, learned: UNKNOWN_CLIENT, isScripted: true, isWhole: false, left: [] },
    wanted,
  );
}

/** Answers a request for verdicts: a caller sees its own, all of them are seen on loopback only. */
function serveVerdicts(
  request: IncomingMessage,
  response: ServerResponse,
  { callers, wanted }: { callers: () => Callers; wanted: Asked },
): boolean {
  if (!VERDICTS.test(request.url ?? '')) return false;
  const plays = callers();
  const credentials = credentialsOf(request.rawHeaders);
  const mine = plays.get(credentials);
  const forwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in request.headers);
  const isLocal = !forwarded && LOOPBACK.test(request.socket.remoteAddress ?? '');
  const shown = mine ? [[credentials, mine] as const] : isLocal ? [...plays] : [];
  const reports = shown.map(([caller, play]) => ({ caller: caller.slice(0, 8), ...reportOf(play, wanted) }));
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ callers: reports }));
  return true;
}

function readAddress(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[\da-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new Mistake(`--listen is "${text}"; write HOST:PORT, such as 127.0.0.1:8090`);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

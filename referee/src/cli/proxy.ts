import { once } from 'node:events';
import type { Command } from 'commander';
import { parseScript } from '../client/script.ts';
import { EXIT_CODES, outcomeOf, reportOf, runText } from '../client/verdict.ts';
import { Mistake } from '../mistake.ts';
import { openProxy } from '../proxy/proxy.ts';
import { COLOURED, PLAIN } from '../report/write.ts';
import { type ProxyFlags, proxyOf, withProxyOptions } from './client.ts';
import type { Invocation } from './invocation.ts';

/** Adds `proxy`. */
export function addProxyCommand(program: Command, invocation: Invocation): void {
  withProxyOptions(program.command('proxy [script]'))
    .description('Play a script to whatever client comes, until it is stopped; then judge what came')
    .action(async (script = 'ok', options: ProxyFlags) => {
      parseScript(script);
      await using proxy = await openProxy({ ...proxyOf(options), script });
      invocation.tell(`listening on ${proxy.url}`);
      if (!invocation.stop.aborted) await once(invocation.stop, 'abort');
      const report = reportOf(await proxy.end());
      invocation.print(runText([{ report, allowed: { partial: true } }], invocation.hasColours() ? COLOURED : PLAIN));
      throw new Mistake('', EXIT_CODES[outcomeOf(report, { partial: true })]);
    });
}

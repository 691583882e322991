import { Mistake } from '../mistake.ts';
import { NO_HTTP1, OTHER_PROTOCOL } from '../proxy/upstream.ts';
import { printable } from '../report/write.ts';
import type { Client } from './client.ts';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';

const FIRST_ANSWER_MS_MAX = 10_000;
const FIRST_TRIES = 5;

/** The answer to a first request. Throws `Mistake` if no server is there, or none that can be judged. */
export async function reach(client: Client, sent: Sent): Promise<Answer | undefined> {
  const address = client.addressOf(sent.path);
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await client.send(sent, { timeoutMs: FIRST_ANSWER_MS_MAX });
      const { status, headers } = answer;
      const target = headers.get('location');
      if (status > 300 && status < 309 && status !== 304 && target !== undefined) {
        throw new Mistake(`${address} redirects to ${printable(target)}; give the address that answers`);
      }
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      const { message, code } = error;
      if (error.isHttp) return undefined;
      if (/CERT|ISSUER|SIGNATURE|CHAIN|CRL/.test(code)) {
        const advice = 'NODE_EXTRA_CA_CERTS=FILE names your own authority';
        throw new Mistake(`The certificate of ${address} cannot be verified (${code}); ${advice}`);
      }
      if (NO_HTTP1.test(code)) throw new Mistake(`${address} does not speak HTTP/1.1 (${code}): ${OTHER_PROTOCOL}`);
      if (tries === FIRST_TRIES || code !== 'ECONNRESET') {
        throw new Mistake(`Nothing that speaks HTTP answers at ${address}: ${printable(message)}`);
      }
    }
  }
}

import type { IncomingMessage } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { AppOptions } from '../../http/app.ts';
import type { Operation } from '../../http/operations/operation.ts';
import type { Exchange, Serve } from '../../http/transport/exchange.ts';
import type { Decision } from '../../limits/limiter.ts';
import { later } from '../../limits/window.ts';
import type { Time } from '../../stdx/time.ts';
import { interceptAnswers } from '../intercepted-answers.ts';
import type { TurnedTime } from '../turned-time.ts';
import type { Held } from './progress.ts';
import { machineMs } from './script-time.ts';
import type { ScriptedKeys } from './scripted-key.ts';
import { ScriptedRequest } from './scripted-request.ts';

/** A request whose key exists nowhere: the real authenticator refuses it as it refuses every unknown key. */
const UNKNOWN_KEY = { headers: { authorization: 'Bearer unknown' } } as IncomingMessage;

/**
 * Wraps the making of an app so that requests with a scripted key meet their steps. Its gates get an authenticator, a
 * limiter and operations that know the script; the app itself knows nothing of it.
 */
export function withScripts(
  createApp: (options: AppOptions) => Serve,
  { keys, time }: { keys: ScriptedKeys; time: TurnedTime },
): (options: AppOptions) => Serve {
  return (options) => {
    const { authenticator } = options;
    const exchanges = new WeakMap<IncomingMessage, Exchange>();
    const scripts = new WeakMap<Exchange, ScriptedRequest>();
    const isFree = freeRoutes(options.operations);

    const serve = createApp({
      ...options,
      authenticator: {
        async authenticate(request) {
          const at = machineMs(time);
          const found = await authenticator.authenticate(request);
          const exchange = exchanges.get(request);
          const key = found.key && (await keys.find(found.key.id));
          if (!exchange || !found.key || !key) return found;
          const scripted = new ScriptedRequest(exchange, { key, at, time });
          scripts.set(exchange, scripted);
          if (scripted.isRevoked({ isFree: isFree(exchange) })) return authenticator.authenticate(UNKNOWN_KEY);
          return { key: { ...found.key, scripted } };
        },
      },
      limiter: scriptedLimiter(options.limiter, time),
      operations: options.operations.map((operation) => ({
        ...operation,
        handle: (catalog, exchange) => {
          const work = () => operation.handle(catalog, exchange);
          return scriptOf(exchange.key)?.carryOut(work) ?? work();
        },
      })),
    });
    return async (exchange) => {
      exchanges.set(exchange.request, exchange);
      let concluding: Promise<void> | undefined;
      interceptAnswers(exchange, (answer, send) => {
        const scripted = scripts.get(exchange);
        if (!scripted) return send(answer);
        concluding ??= scripted.conclude(answer, send);
      });
      await serve(exchange);
      await concluding;
    };
  };
}

/** True if a request is for an operation that spends no step. */
function freeRoutes(operations: readonly Operation[]): (exchange: Exchange) => boolean {
  const free = operations.filter(({ free: isFree }) => isFree).map(({ method, path }) => `${method} /v1${path}`);
  return ({ request, route }) => free.includes(`${request.method === 'HEAD' ? 'GET' : request.method} ${route}`);
}

/** The request of a key that follows a script: each request gets a copy of the key, which has it. */
function scriptOf(key: ApiKey & { readonly scripted?: ScriptedRequest }): ScriptedRequest | undefined {
  return key.scripted;
}

/** A limiter that refuses what a script refuses, by the arithmetic of the real one. */
function scriptedLimiter(limiter: AppOptions['limiter'], time: Time): AppOptions['limiter'] {
  /** Decisions made by a script; they are not restated. */
  const made = new WeakSet<Decision>();
  const peek = async (key: ApiKey) => {
    const known = await limiter.peek(key);
    const held = scriptOf(key)?.held();
    if (!held) return known;
    const decision = refused(known, held, time);
    made.add(decision);
    return decision;
  };
  return {
    async charge(key) {
      const request = scriptOf(key);
      request?.begin();
      if (!request?.held() && !request?.isReset) return limiter.charge(key);
      return peek(key);
    },
    peek,
    current: (key, decision) => (made.has(decision) ? decision : limiter.current(key, decision)),
  };
}

/** The refusal by windows in the state that the step pretends. */
function refused(known: Decision, { step, seconds }: Held, time: Time): Decision {
  const moment = time.now();
  const until = moment.unix + seconds;
  const spent = { remaining: 0, reset: until };
  if (step.name === 'limit' || step.name === 'limit-date') {
    return later({ ...known, minute: { ...known.minute, ...spent } }, moment);
  }
  if (step.name === 'ban') return later({ ...known, ban: { until, reason: 'banned by its script' } }, moment);
  const day = { ...known.day, remaining: 0 };
  // A real day ends at midnight; here the script decides.
  return { ...later({ ...known, day }, moment), reset: until, day: { ...day, ...spent } };
}

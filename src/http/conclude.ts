import type { Events } from '../telemetry/events.ts';
import { errorAnswer } from './errors.ts';
import type { Answer, Exchange } from './transport/exchange.ts';
import { readHead } from './transport/request-head.ts';

/** Ends every exchange with one answer, also when a step throws. Synchronous unless a step returns a promise. */
export function conclude(
  exchange: Exchange,
  events: Events,
  respond: (exchange: Exchange) => Answer | Promise<Answer>,
): void | Promise<void> {
  try {
    readHead(exchange);
    // Only after the parser has read the rest of the packet is it known whether a chunked body is complete or
    // malformed.
    const isChunked = exchange.request.headers['transfer-encoding'] !== undefined;
    const answer = isChunked ? Promise.resolve(exchange).then(respond) : respond(exchange);
    if (answer instanceof Promise) return concludeLater(exchange, events, answer);
    exchange.answer(answer);
  } catch (error) {
    concludeFailed(exchange, events, error);
  }
}

async function concludeLater(exchange: Exchange, events: Events, answer: Promise<Answer>): Promise<void> {
  try {
    exchange.answer(await answer);
  } catch (error) {
    concludeFailed(exchange, events, error);
  }
}

function concludeFailed(exchange: Exchange, events: Events, error: unknown): void {
  // An answer logs its cause.
  if (exchange.status === undefined) exchange.answer(errorAnswer(error));
  else events.requestFailed(exchange.requestId, error);
}

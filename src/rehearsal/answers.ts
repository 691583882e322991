import type { Serve } from '../http/transport/exchange.ts';
import type { Clock } from '../stdx/clock.ts';
import { greased } from './script/grease.ts';

/** Wraps a request handler so that its answers have a `Date` by this clock; Node would write the machine's. */
export function withDate(serve: Serve, clock: Clock): Serve {
  return (exchange) => {
    const send = exchange.answer.bind(exchange);
    exchange.answer = (answer) => {
      const date = new Date(clock().unix * 1000).toUTCString();
      send({ ...answer, headers: [...(answer.headers ?? []), 'Date', date] });
    };
    return serve(exchange);
  };
}

/** Wraps a request handler so that its answers under `/v1` have what may be added at any time. */
export function withGrease(serve: Serve, seed: string): Serve {
  return (exchange) => {
    const send = exchange.answer.bind(exchange);
    exchange.answer = (answer) => send(exchange.isApi ? greased(answer, seed) : answer);
    return serve(exchange);
  };
}

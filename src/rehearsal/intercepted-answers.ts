import type { Answer, Exchange, Serve } from '../http/transport/exchange.ts';
import type { Time } from '../stdx/time.ts';
import { greased, textOf } from './script/grease.ts';

/** Passes every answer of an exchange to `change`, with the function that sends one. */
export function interceptAnswers(
  exchange: Pick<Exchange, 'answer'>,
  change: (answer: Answer, send: (answer: Answer) => void) => void,
): void {
  const send = exchange.answer.bind(exchange);
  exchange.answer = (answer) => change(answer, send);
}

/** Wraps a request handler so that its answers have a `Date` by this time; Node would write the machine's. */
export function withDate(serve: Serve, time: Time): Serve {
  return (exchange) => {
    interceptAnswers(exchange, (answer, send) => {
      const date = new Date(time.now().unix * 1000).toUTCString();
      send({ ...answer, headers: [...(answer.headers ?? []), 'Date', date] });
    });
    return serve(exchange);
  };
}

/** Wraps a request handler so that its answers under `/v1` have what may be added at any time. */
export function withGrease(serve: Serve, seed: string): Serve {
  return (exchange) => {
    interceptAnswers(exchange, (answer, send) => {
      const { status, body = '' } = answer;
      send(exchange.hasLimitHeaders ? greased(answer, `${seed}\n${status}\n${textOf(body)}`) : answer);
    });
    return serve(exchange);
  };
}

import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { AppOptions, createApp } from '../../http/app.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Decision } from '../../limits/limiter.ts';
import type { Time } from '../../stdx/time.ts';
import { interceptAnswers } from '../intercepted-answers.ts';
import { textOf } from '../script/grease.ts';

/** The faults of a defect, one for each place that can have one. */
export interface Fault {
  readonly parts?: (options: AppOptions) => AppOptions;
  /** Changes a request before the gates see it. */
  readonly request?: (exchange: Exchange) => void;
  /** Rewrites an answer before it is sent. */
  readonly answer?: Change;
  /** Changes the headers as they are sent, those of the limits among them. */
  readonly head?: (headers: Map<string, string>, exchange: Exchange, status: number) => void;
}

export type Change = (answer: Answer, exchange: Exchange) => Answer;

/** One way in which a service breaks one rule of the interface, as real services do. */
export interface Defect {
  readonly name: string;
  /** The rule of `src/conformance/` that it breaks. */
  readonly rule: string;
  readonly description: string;
  /** A function prepares the fault for one service. */
  readonly fault: Fault | ((time: Time) => Fault);
}

/** Defects by the rule that each breaks, its name and its description. */
export type DefectTable = Readonly<Record<`${string} ${string}: ${string}`, Defect['fault']>>;

export type Members = Readonly<Record<string, unknown>>;

/** The answers that a defect changes: those that are all of this. A pattern is looked for. */
export interface Where {
  readonly status?: number;
  readonly code?: Answer['code'];
  readonly method?: string;
  readonly path?: string | RegExp;
  readonly url?: string | RegExp;
  readonly when?: (exchange: Exchange) => boolean;
}

/** Wraps `createApp` so that the public API has these defects. */
export function withDefects(create: typeof createApp, defects: readonly Defect[], time: Time): typeof createApp {
  const faults = defects.map(({ fault }) => (typeof fault === 'function' ? fault(time) : fault));
  const responses = new WeakMap<IncomingMessage, ServerResponse>();
  if (faults.some(({ head }) => head !== undefined)) {
    subscribe('http.server.request.start', (message) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
      responses.set(request, response);
    });
  }
  return (options) => {
    const serve = create(faults.reduce((parts, fault) => fault.parts?.(parts) ?? parts, options));
    return (exchange) => {
      interceptAnswers(exchange, (answer, send) =>
        send(faults.reduce((made, fault) => fault.answer?.(made, exchange) ?? made, answer)),
      );
      const response = responses.get(exchange.request);
      if (response) changeHead(response, exchange, faults);
      for (const { request } of faults) request?.(exchange);
      return serve(exchange);
    };
  };
}

function changeHead(response: ServerResponse, exchange: Exchange, faults: readonly Fault[]): void {
  const write = response.writeHead.bind(response) as (status: number, headers: string[]) => ServerResponse;
  response.writeHead = ((status: number, flat: readonly string[]) => {
    const headers = new Map<string, string>();
    for (let i = 0; i < flat.length; i += 2) headers.set(flat[i] ?? '', flat[i + 1] ?? '');
    for (const { head } of faults) head?.(headers, exchange, status);
    return write(status, [...headers].flat());
  }) as unknown as ServerResponse['writeHead'];
}

/** Changes some answers. */
export function answering(where: Where, change: Change): Fault {
  return { answer: (answer, exchange) => (isAt(where, answer, exchange) ? change(answer, exchange) : answer) };
}

/** Changes the JSON value of some answers. */
export function rewriting<T = Members>(where: Where, change: (value: T, exchange: Exchange) => unknown): Fault {
  return answering(where, json(change));
}

/** Changes a header of some answers as it is sent, or removes it; an empty text is none. */
export function heading(
  where: Where,
  name: string,
  change: (value: string, exchange: Exchange) => string | number = () => '',
): Fault {
  return {
    head: (headers, exchange, status) => {
      if (!isAt(where, { status }, exchange)) return;
      const value = `${change(headers.get(name) ?? '', exchange)}`;
      if (value === '') headers.delete(name);
      else headers.set(name, value);
    },
  };
}

/** Adds to the number in a header of some answers. */
export function adding(where: Where, name: string, number: number): Fault {
  return heading(where, name, (text) => Number(text) + number);
}

/** Changes a header of the requests that have it; undefined removes it. */
export function asking(name: string, change: (value: string) => string | undefined): Fault {
  return {
    request: ({ request }) => {
      const value = request.headers[name];
      if (value !== undefined) request.headers[name] = change(`${value}`);
    },
  };
}

/** Replaces a part of the target of each request. */
export function targeting(part: string | RegExp, other: string): Fault {
  return {
    request: ({ request }) => {
      request.url = request.url?.replace(part, other) ?? '';
    },
  };
}

/** Sends another status; the body stays as it is. */
export function status(other: number): Change {
  return (answer) => ({ ...answer, status: other });
}

/** Sends an error with another status, in its body too. */
export function errorStatus(other: number): Change {
  return (answer, exchange) => members({ status: other })({ ...answer, status: other }, exchange);
}

/** Changes the JSON value of a body. */
export function json<T = Members>(change: (value: T, exchange: Exchange) => unknown): Change {
  return (answer, exchange) => ({ ...answer, body: JSON.stringify(change(jsonIn(answer) as T, exchange)) });
}

/** Sets members of a JSON object. */
export function members(others: Members): Change {
  return json((body) => ({ ...body, ...others }));
}

/** The body of an answer as a JSON value; undefined if it has none. */
export function jsonIn({ body }: Answer): unknown {
  return body === undefined ? undefined : JSON.parse(textOf(body));
}

function isAt(where: Where, answer: Pick<Answer, 'status' | 'code'>, exchange: Exchange): boolean {
  const { request, path } = exchange;
  return (
    (where.status ?? answer.status) === answer.status &&
    (where.code ?? answer.code) === answer.code &&
    (where.method ?? request.method) === request.method &&
    isLike(path, where.path) &&
    isLike(request.url ?? '', where.url) &&
    where.when?.(exchange) !== false
  );
}

function isLike(text: string, wanted: string | RegExp = text): boolean {
  return typeof wanted === 'string' ? text === wanted : wanted.test(text);
}

export type Limiter = AppOptions['limiter'];

/** Replaces parts of the limiter. */
export function limiting(change: (limiter: Limiter) => Partial<Limiter>): Fault {
  return {
    parts: (options) => {
      const { limiter } = options;
      const unchanged: Limiter = {
        charge: (key) => limiter.charge(key),
        peek: (key) => limiter.peek(key),
        current: (key, decision) => limiter.current(key, decision),
      };
      return { ...options, limiter: { ...unchanged, ...change(limiter) } };
    },
  };
}

/** Changes what headers say, and nothing that is counted. */
export function telling(change: (decision: Decision) => Decision): Fault {
  return limiting((limiter) => ({ current: (key, decision) => change(limiter.current(key, decision)) }));
}

/** Changes decisions as they are made; they are not restated. `look` changes those that count nothing. */
export function deciding(
  change: (decision: Decision, key: ApiKey) => Decision,
  look = (decision: Decision) => decision,
): Fault {
  return limiting((limiter) => ({
    charge: async (key) => change(await limiter.charge(key), key),
    peek: async (key) => look(await limiter.peek(key)),
    current: (_, decision) => decision,
  }));
}

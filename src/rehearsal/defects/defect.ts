import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppOptions, createApp } from '../../http/app.ts';
import type { Operation } from '../../http/operations/operation.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Time } from '../../stdx/time.ts';

/** One way in which a service breaks one rule of the interface, as real services do. */
export interface Defect {
  readonly name: string;
  /** The rule of `src/conformance/` that it breaks. */
  readonly rule: string;
  readonly description: string;
  /** Whether the rule is judged only with `--full`. */
  readonly waits?: true;
  /** Prepares the defect for one service. */
  inject(time: Time): Fault;
}

/** What a defect does at each place where it can. */
export interface Fault {
  /** Replaces parts of the app. */
  readonly parts?: (options: AppOptions) => AppOptions;
  /** Changes a request before the gates see it. */
  readonly request?: (exchange: Exchange) => void;
  /** Rewrites an answer before it is sent. */
  readonly answer?: (answer: Answer, exchange: Exchange) => Answer;
  /** Changes the headers as they are sent, those of the limits among them. */
  readonly head?: (headers: Map<string, string>, exchange: Exchange, status: number) => void;
}

/** A defect in one line. */
export function defect(rule: string, name: string, description: string, fault: Fault | Defect['inject']): Defect {
  return { name, rule, description, inject: typeof fault === 'function' ? fault : () => fault };
}

/** Wraps `createApp` so that the public API has these defects. */
export function withDefects(create: typeof createApp, defects: readonly Defect[], time: Time): typeof createApp {
  const faults = defects.map(({ inject }) => inject(time));
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
      const send = exchange.answer.bind(exchange);
      exchange.answer = (answer) =>
        send(faults.reduce((made, fault) => fault.answer?.(made, exchange) ?? made, answer));
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

/** Replaces the handler of an operation. */
export function operating(
  id: string,
  change: (handle: Operation['handle']) => Operation['handle'],
): NonNullable<Fault['parts']> {
  return (options) => ({
    ...options,
    operations: options.operations.map((operation) =>
      operation.id === id
        ? { ...operation, handle: change((catalog, exchange) => operation.handle(catalog, exchange)) }
        : operation,
    ),
  });
}

/** The body of an answer as a JSON value; undefined if it has none. */
export function jsonIn({ body }: Answer): unknown {
  if (body === undefined) return undefined;
  return JSON.parse(typeof body === 'string' ? body : Buffer.concat([...body]).toString());
}

/** An answer's own headers without one of them, and with others (flat: name, value, …). */
export function withHeader(answer: Answer, name: string, ...values: readonly string[]): Answer {
  const kept = (answer.headers ?? []).flatMap((each, index, all) =>
    index % 2 === 0 && each !== name ? [each, all[index + 1] ?? ''] : [],
  );
  return { ...answer, headers: [...kept, ...values.flatMap((value) => [name, value])] };
}

import assert from 'node:assert/strict';
import { ERROR_CODES } from '../../../src/catalog/error.ts';
import { STATUS_OF } from '../../../src/http/errors.ts';
import type { TestService } from '../service.ts';
import { openRaw, type RawAnswer, type RawConnection } from './raw.ts';

/** `<key>` in a request stands for a good key's secret. */
export const AUTHORIZATION = 'Authorization: Bearer <key>';
export const HOST = 'Host: pets.example';

/**
 * One request, or several, as bytes (Latin-1), and what comes of it: the answers in order, errors with their code, then
 * whether the connection is `open` and good for another request, or `closed` with nothing more said.
 */
export type Row = readonly [what: string, bytes: string, outcome: string, options?: RowOptions];

interface RowOptions {
  /** The client half-closes after this. Otherwise a valid request follows, whatever the outcome of this one. */
  readonly halfClose?: true;
  /** The first answer is to HEAD and has no body. */
  readonly toHead?: true;
  /** The answer is outside the API and has no limit headers. */
  readonly isOutside?: true;
  /** Not sent in pieces: the outcome depends on packet boundaries. */
  readonly whole?: true;
}

/** A request with these lines between the request line and the empty line. */
export function request(line: string, ...headers: readonly string[]): string {
  return `${[line, ...headers].join('\r\n')}\r\n\r\n`;
}

/** The list, with a key and further header lines. */
export function get(...headers: readonly string[]): string {
  return request('GET /v1/categories HTTP/1.1', HOST, AUTHORIZATION, ...headers);
}

/** A create, with a key, further header lines and a body as it is. */
export function post(body: string, ...headers: readonly string[]): string {
  return request('POST /v1/categories HTTP/1.1', HOST, AUTHORIZATION, ...headers) + body;
}

/** The rows of a file: `title | outcome | options | bytes` each, under headings that begin with `#`; see there. */
export function rowsOf(text: string): Row[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line): Row => {
    const [title = '', outcome = '', flags = '', ...rest] = line.split(' | ');
    const options = Object.fromEntries(flags.split(' ').flatMap((flag) => (flag ? [[flag, true]] : [])));
    return [title, decoded(rest.join(' | ')), outcome, options];
  });
}

const MACROS: Readonly<Record<string, string>> = {
  key: `${HOST}⏎${AUTHORIZATION}`,
  get: `GET /v1/categories HTTP/1.1⏎${HOST}⏎${AUTHORIZATION}⏎`,
  post: `POST /v1/categories HTTP/1.1⏎${HOST}⏎${AUTHORIZATION}⏎`,
};

/** `⏎` is CRLF, `\x7f` a byte, `\{` a brace, `{get}` a macro, and `{9:ab}` as many repetitions, which may be nested. */
function decoded(text: string): string {
  const stack: { times: number; text: string }[] = [{ times: 1, text: '' }];
  const top = () => stack.at(-1) ?? { times: 1, text: '' };
  for (const [part] of text.matchAll(/\\x..|\\.|\{(?:get|post|key)\}|\{\d+:|[\s\S]/g)) {
    if (/^\{\d/.test(part)) stack.push({ times: Number.parseInt(part.slice(1), 10), text: '' });
    else if (part === '}') {
      const group = stack.pop();
      top().text += group?.text.repeat(group.times);
    } else if (/^\{\w/.test(part)) top().text += (MACROS[part.slice(1, -1)] ?? '').replaceAll('⏎', '\r\n');
    else if (part.startsWith('\\x')) top().text += String.fromCharCode(Number.parseInt(part.slice(2), 16));
    else top().text += part === '⏎' ? '\r\n' : part.replace(/^\\/, '');
  }
  return top().text;
}

/** Sends a row in so many pieces, and checks that the service still works afterwards. */
export async function tryRow(service: TestService, secret: string, { row, pieces }: { row: Row; pieces: number }) {
  const [, bytes, outcome, options = {}] = row;
  const expected = outcome.split(', ');
  const state = expected.pop();
  const answeredBefore = service.events.answered.length;
  await using raw = await openRaw(service.url);
  // A service that has closed may refuse the rest; what it has answered counts.
  await raw.sendPieces(inPieces(bytes.replaceAll('<key>', secret), pieces)).catch(() => {});

  const answers = state === 'open' ? await answersThenProbe(raw, secret, expected.length) : [];
  if (state === 'closed') {
    if (options.halfClose) raw.finish();
    else await raw.send(probe(secret)).catch(() => {});
    answers.push(...(await raw.answersUntilClosed(options)));
  }
  assert.equal(answers.length, expected.length, answers.map(summary).join());
  for (const [index, answer] of answers.entries()) assertSummary(answer, expected[index] ?? '');
  for (const answer of answers) assertAnswer(answer, options);
  if (state === 'closed' && !options.halfClose) assert.equal(answers.at(-1)?.headers.get('connection'), 'close');

  const probes = state === 'open' ? 1 : 0;
  const final = answers.filter(({ status }) => status >= 200).length;
  assert.equal(service.events.answered.length - answeredBefore, final + probes, 'every answer is told once');
}

/** The answers that are expected, and after them that of a further request, so that there was not one more. */
async function answersThenProbe(raw: RawConnection, secret: string, count: number): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  while (answers.length < count) answers.push(await raw.answer());
  await raw.send(probe(secret));
  const [last, ...more] = await raw.answersUntilClosed();
  assert.equal(last?.headers.get('x-request-id'), 'probe');
  assert.equal(last.status, 200);
  assert.deepEqual(more, []);
  return answers;
}

function probe(secret: string): string {
  const authorization = AUTHORIZATION.replace('<key>', secret);
  return request('GET /v1/rate_limit HTTP/1.1', HOST, authorization, 'X-Request-Id: probe', 'Connection: close');
}

function inPieces(text: string, count: number): string[] {
  const length = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, i) => text.slice(i * length, (i + 1) * length)).filter(Boolean);
}

/** An outcome after whose code stands `: name` says with what the message begins. */
function assertSummary(answer: RawAnswer, expected: string): void {
  const [code, begin] = expected.split(': ');
  assert.equal(summary(answer), code);
  if (begin === undefined) return;
  const { message } = JSON.parse(answer.body);
  assert.ok(message.startsWith(begin) && message.length < 250, message);
}

function summary({ status, body }: RawAnswer): string {
  return status < 400 || body === '' ? `${status}` : `${status} ${JSON.parse(body).code}`;
}

/** Checks that hold for every answer. */
export function assertAnswer(answer: RawAnswer, { isOutside, toHead }: RowOptions = {}): void {
  const { status, headers, body } = answer;
  if (status < 200) return;
  assert.match(headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,128}$/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  for (const name of ['limit', 'remaining', 'reset']) {
    const value = headers.get(`x-ratelimit-${name}`);
    if (isOutside) assert.equal(value, undefined);
    else assert.match(value ?? '', /^[0-9]{1,10}$/, name);
  }
  if (![204, 303].includes(status)) assert.equal(headers.get('content-type'), 'application/json');
  if (status === 401) assert.match(headers.get('www-authenticate') ?? '', /^Bearer realm="pet-catalog"/);
  if (status === 405) assert.match(headers.get('allow') ?? '', /^[A-Z]+(, [A-Z]+)*$/);
  if (status === 503) assert.match(headers.get('retry-after') ?? '', /^[0-9]+$/);
  if (status >= 400 && !toHead) assertErrorBody(body, status);
}

function assertErrorBody(body: string, status: number): void {
  const error = JSON.parse(body);
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
  assert.equal(error.status, status);
  const code = ERROR_CODES.find((known) => known === error.code);
  assert.ok(code, error.code);
  assert.equal(STATUS_OF[code], status);
  assert.match(error.message, /^[^\n]+[^.\n]$/);
}

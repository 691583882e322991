import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { codeIn } from '../kit/client/project.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { httpServer } from '../kit/http-server.ts';

/**
 * The retries of the guide, in each language by what the table above them promises, against a server that refuses,
 * loses and cuts off its answers. Waits are over at once.
 */

const run = promisify(execFile);
const text = readFileSync(new URL('../../src/http/docs/pages/retries.md', import.meta.url), 'utf8');

/** An answer of the server: lost, cut off, or with a status and a `Retry-After` of so many seconds. */
type Answer = 'lost' | 'cut' | { readonly status: number; readonly retryAfter?: number; readonly as?: DateForm };
type DateForm = 'date' | 'asctime';

/** The outcome of a call: its waits in milliseconds, its attempts, and its status or the words of its error. */
interface Outcome {
  readonly waits: readonly number[];
  readonly sent: number;
  readonly end: number | string;
}

/** Calls each of these addresses once: the waits and the end of each call. */
type Calling = (urls: readonly string[]) => Promise<readonly Omit<Outcome, 'sent'>[]>;

/** Answers at `/v1/NUMBER` with the answers of that case, one after the other; the last one stays. */
async function faultyServer(cases: readonly (readonly Answer[])[]) {
  const sent = cases.map(() => 0);
  const server = await httpServer(({ url = '' }, response) => {
    const index = Number(/(\d+)$/.exec(url)?.[1]);
    const answers = cases[index] ?? [];
    const answer = answers[Math.min(sent[index] ?? 0, answers.length - 1)] ?? 'lost';
    sent[index] = (sent[index] ?? 0) + 1;
    // Go repeats by itself what is lost on a connection that it used before.
    send(answer, response.setHeader('connection', 'close'));
  });
  return { ...server, sent, urls: cases.map((_, index) => `${server.origin}/v1/${index}`) };
}

function send(answer: Answer, response: ServerResponse): void {
  if (answer === 'lost') response.socket?.destroy();
  else if (answer === 'cut') response.writeHead(200, { 'content-length': 10 }).write('[1', () => response.destroy());
  else {
    const { status, retryAfter, as } = answer;
    const header = as ? dateIn(retryAfter ?? 0, as) : `${retryAfter}`;
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': header }).end('[]');
  }
}

function dateIn(seconds: number, form: DateForm): string {
  const date = new Date(Date.now() + seconds * 1_000).toUTCString();
  if (form === 'date') return date;
  const [day = '', number = '', month, year, time] = date.split(' ');
  return `${day.slice(0, 3)} ${month} ${number.replace(/^0/, ' ')} ${time} ${year}`;
}

async function outcomesOf(calling: Calling, cases: readonly (readonly Answer[])[]): Promise<Outcome[]> {
  await using server = await faultyServer(cases);
  const ends = await calling(server.urls);
  return ends.map((end, index) => ({ ...end, sent: server.sent[index] ?? 0 }));
}

/** Runs a program that has the sample and reads the addresses from a file. */
async function inProgram(
  language: string,
  command: readonly string[],
  files: Record<string, string>,
  urls: readonly string[],
) {
  using folder = temporaryFolder();
  const [sample = ''] = codeIn(text, 'When to retry', language);
  for (const [name, code] of Object.entries({ ...files, 'urls.json': JSON.stringify(urls) })) {
    writeFileSync(
      join(folder.path, name),
      code.replace('SAMPLE', () => sample),
    );
  }
  const [program = '', ...args] = command;
  const { stdout } = await run(program, args, { cwd: folder.path, env: { ...process.env, TZ: 'America/New_York' } });
  return JSON.parse(stdout);
}

const JAVASCRIPT = `
import { readFileSync } from 'node:fs';
let waits;
globalThis.sleep = (wake, ms) => wake(waits.push(ms));
const { call } = await import('./sample.mjs');
const ends = [];
for (const url of JSON.parse(readFileSync('urls.json', 'utf8'))) {
  waits = [];
  const end = await call(url, {}).then(({ status }) => status, ({ message }) => message);
  ends.push({ waits, end });
}
console.log(JSON.stringify(ends));
`;

const PYTHON = `
import json, types
import sample

ends = []
for url in json.load(open("urls.json")):
    waits = []
    sample.time = types.SimpleNamespace(sleep=lambda seconds: waits.append(seconds * 1000))
    try:
        end = sample.call("GET", url).status_code
    except Exception as error:
        end = str(error) or type(error).__name__
    ends.append({"waits": waits, "end": end})
print(json.dumps(ends))
`;

/** The sample's waits go through \`sleep\`, because a package of Go cannot be changed from outside. */
const GO = `package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"
)

type ending struct {
	Waits []float64 \`json:"waits"\`
	End interface{} \`json:"end"\`
}

var waits []float64

func sleep(d time.Duration) { waits = append(waits, float64(d)/1e6) }

func main() {
	var urls []string
	file, _ := os.ReadFile("urls.json")
	if err := json.Unmarshal(file, &urls); err != nil {
		panic(err)
	}
	ends := []ending{}
	for _, url := range urls {
		waits = []float64{}
		got, err := call("GET", url, "", http.Header{})
		end := ending{End: got.status}
		if err != nil {
			end.End = err.Error()
		}
		end.Waits = waits
		ends = append(ends, end)
	}
	json.NewEncoder(os.Stdout).Encode(ends)
}
`;

const hasGo = spawnSync('go', ['version']).status === 0;
const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;
const LANGUAGES: readonly { name: string; calling: Calling; skip: string | false }[] = [
  {
    name: 'JavaScript',
    calling(urls) {
      const [sample = ''] = codeIn(text, 'When to retry', 'js');
      const files = { 'sample.mjs': sample.replaceAll('setTimeout(', 'sleep('), 'test.mjs': JAVASCRIPT };
      return inProgram('', [process.execPath, 'test.mjs'], files, urls);
    },
    skip: false,
  },
  {
    name: 'Python',
    calling: (urls) => inProgram('py', ['python3', 'test.py'], { 'sample.py': 'SAMPLE', 'test.py': PYTHON }, urls),
    skip: !hasRequests && 'python3 has no package requests',
  },
  {
    name: 'Go',
    calling(urls) {
      const [sample = ''] = codeIn(text, 'When to retry', 'go');
      const files = { 'sample.go': sample.replaceAll('time.Sleep(', 'sleep('), 'main.go': GO };
      return inProgram('', ['go', 'run', 'main.go', 'sample.go'], files, urls);
    },
    skip: !hasGo && 'go is not installed',
  },
];

const GOOD = { status: 200 };

/** What is retried once, and how many seconds the answer asks to wait. */
const RETRIED: readonly (readonly [first: Answer, asked: number])[] = [
  [{ status: 429, retryAfter: 7 }, 7],
  [{ status: 503, retryAfter: 7 }, 7],
  [{ status: 408 }, 0],
  [{ status: 500 }, 0],
  ['lost', 0],
  ['cut', 0],
  [{ status: 503, retryAfter: -60, as: 'date' }, 0],
];
const DATED: readonly Answer[] = [
  { status: 429, retryAfter: 100, as: 'date' },
  { status: 429, retryAfter: 100, as: 'asctime' },
];
const FINAL = [201, 304, 400, 401, 404, 409, 412, 422, 501];
const ALWAYS: readonly Answer[] = [
  { status: 503, retryAfter: 1 },
  'lost',
  'cut',
  { status: 429, retryAfter: 3_600 },
  { status: 429, retryAfter: 3_600, as: 'date' },
  { status: 429, retryAfter: 9_007_199_254_740_991 },
];

for (const { name, calling, skip } of LANGUAGES) {
  test(`the sample in ${name} retries what the table says, and gives up after five attempts`, { skip }, async () => {
    const outcomes = await outcomesOf(calling, [
      ...[...RETRIED.map(([first]) => first), ...DATED].map((first) => [first, GOOD]),
      ...FINAL.map((status) => [{ status }]),
      ...ALWAYS.map((answer) => [answer]),
    ]);
    for (const [, asked] of RETRIED) {
      const { waits, sent, end } = outcomes.shift() ?? assert.fail();
      assert.deepEqual([end, sent, waits.length], [200, 2, 1]);
      assert.ok(
        waits[0] !== undefined && waits[0] >= asked * 1_000 + 250 && waits[0] <= asked * 1_000 + 500,
        `${waits}`,
      );
    }
    for (const { waits, sent, end } of outcomes.splice(0, DATED.length)) {
      assert.deepEqual([end, sent, waits.length], [200, 2, 1]);
      assert.ok(waits[0] !== undefined && waits[0] > 60_000 && waits[0] <= 100_500, `${waits} until a date`);
    }
    for (const status of FINAL) assert.deepEqual(outcomes.shift(), { waits: [], sent: 1, end: status });

    const [busy, lost, cut, ...spent] = outcomes;
    assert.deepEqual([busy?.end, busy?.sent, busy?.waits.length], [503, 5, 4]);
    assert.ok(busy?.waits.every((wait, index) => wait >= 1_000 + 250 * 2 ** index && wait <= 1_000 + 500 * 2 ** index));
    for (const each of [lost, cut]) {
      assert.deepEqual([each?.sent, each?.waits.length], [5, 4]);
      assert.match(`${each?.end}`, /\D/, 'an error');
    }
    assert.equal(spent.length, 3);
    for (const { sent, end } of spent) {
      assert.equal(sent, 1);
      assert.match(`${end}`, /^try again in [\d.e+]+ s$/i);
    }
  });
}

test('the sample with curl retries what the table says', { skip: missingPrograms('curl') }, async () => {
  const [sample = ''] = codeIn(text, 'When to retry', 'sh');
  const calling = async (...answers: readonly Answer[]) => {
    await using server = await faultyServer([answers]);
    const { stdout } = await run('sh', [
      '-c',
      sample.replaceAll('http://127.0.0.1:8080/v1/categories', server.urls[0] ?? ''),
    ]);
    return { sent: server.sent[0], end: Number([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].at(-1)?.[1]) };
  };
  const retried: Answer[] = [
    { status: 429, retryAfter: 1 },
    { status: 503, retryAfter: 2, as: 'date' },
    { status: 408 },
    { status: 500 },
    'lost',
    'cut',
  ];
  for (const outcome of await Promise.all(retried.map((first) => calling(first, GOOD))))
    assert.deepEqual(outcome, { sent: 2, end: 200 });
  assert.deepEqual(await calling({ status: 404 }, GOOD), { sent: 1, end: 404 });
  assert.deepEqual(await calling({ status: 429, retryAfter: 3_600 }, GOOD), { sent: 1, end: 429 });
  assert.deepEqual(await calling({ status: 503, retryAfter: 1 }), { sent: 5, end: 503 });
});

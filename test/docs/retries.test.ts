import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { codeIn } from '../kit/client/project.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

/** The retries of the guide, in each language by what the table above them promises. Waits are over at once. */

const run = promisify(execFile);
const text = readFileSync(new URL('../../src/http/docs/pages/retries.md', import.meta.url), 'utf8');

/** An answer of the service; null is one that is lost. */
type Answer = { readonly status: number; readonly retryAfter?: number } | null;

/** The outcome of a call: its waits in milliseconds, its attempts, and its status or the words of its error. */
interface Outcome {
  readonly waits: readonly number[];
  readonly sent: number;
  readonly end: number | string;
}

/** Calls once for each of these lists of answers, which come one after the other; the last one stays. */
type Calling = (cases: readonly (readonly Answer[])[]) => Promise<readonly Outcome[]>;

const javaScript: Calling = async (cases) => {
  const outcomes: Outcome[] = [];
  for (const answers of cases) {
    const waits: number[] = [];
    let sent = 0;
    const send = async () => {
      const next = answers[Math.min(sent, answers.length - 1)];
      sent += 1;
      if (!next) throw new TypeError('lost');
      const headers = next.retryAfter === undefined ? undefined : { 'Retry-After': `${next.retryAfter}` };
      return new Response(null, { status: next.status, ...(headers && { headers }) });
    };
    const setTimeout = (wake: () => void, ms: number) => {
      waits.push(ms);
      wake();
    };
    const sample = codeIn(text, 'When to retry', 'js')[0]?.replace('export ', '');
    const call = new Function('fetch', 'setTimeout', `${sample}; return call;`)(send, setTimeout);
    const end = await call('http://service.example/v1/pets', {}).then(
      ({ status }: { status: number }) => status,
      ({ message }: Error) => message,
    );
    outcomes.push({ waits, sent, end });
  }
  return outcomes;
};

/** Runs a program that has the sample and reads the cases from a file. */
async function inProgram(language: string, command: string, files: Record<string, string>, cases: unknown) {
  using folder = temporaryFolder();
  const [sample = ''] = codeIn(text, 'When to retry', language);
  for (const [name, code] of Object.entries({ ...files, 'cases.json': JSON.stringify(cases) })) {
    writeFileSync(join(folder.path, name), code.replace('SAMPLE', sample));
  }
  const [program = '', ...args] = command.split(' ');
  const { stdout } = await run(program, args, { cwd: folder.path });
  return JSON.parse(stdout);
}

const PYTHON = `
import json, types
import sample

outcomes = []
for answers in json.load(open("cases.json")):
    waits, sent = [], []
    def send(method, url, **options):
        answer = answers[min(len(sent), len(answers) - 1)]
        sent.append(options)
        if answer is None:
            raise sample.requests.ConnectionError("lost")
        response = sample.requests.Response()
        response.raw = types.SimpleNamespace()
        response._content = b''
        response.status_code = answer["status"]
        if "retryAfter" in answer:
            response.headers["Retry-After"] = str(answer["retryAfter"])
        return response
    sample.requests.request = send
    sample.time = types.SimpleNamespace(sleep=lambda seconds: waits.append(seconds * 1000))
    try:
        end = sample.call("GET", "http://service.example/v1/pets")
        # urllib3 1 takes half an answer for the whole otherwise.
        assert end.raw.enforce_content_length
        end = end.status_code
    except Exception as error:
        end = str(error)
    outcomes.append({"waits": waits, "sent": len(sent), "end": end})
print(json.dumps(outcomes))
`;

/** The sample's waits go through \`sleep\`, because a package of Go cannot be changed from outside. */
const GO = `package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"
	"io"
	"strconv"
)

type reply struct{ Status, RetryAfter int }
type outcome struct {
	Waits []float64 \`json:"waits"\`
	Sent  int \`json:"sent"\`
	End   interface{} \`json:"end"\`
}
type fake struct {
	replies []*reply
	outcome *outcome
}

func (f fake) RoundTrip(*http.Request) (*http.Response, error) {
	at := f.outcome.Sent
	if at >= len(f.replies) {
		at = len(f.replies) - 1
	}
	f.outcome.Sent++
	if f.replies[at] == nil {
		return nil, errors.New("lost")
	}
	header := http.Header{}
	if f.replies[at].RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(f.replies[at].RetryAfter))
	}
	return &http.Response{StatusCode: f.replies[at].Status, Header: header, Body: io.NopCloser(strings.NewReader(""))}, nil
}

var waits *[]float64

func sleep(d time.Duration) { *waits = append(*waits, float64(d)/1e6) }

func main() {
	var cases [][]*reply
	file, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(file, &cases); err != nil {
		panic(err)
	}
	outcomes := []*outcome{}
	for _, replies := range cases {
		o := &outcome{Waits: []float64{}}
		waits = &o.Waits
		client.Transport = fake{replies, o}
		got, err := call("GET", "http://service.example/v1/pets", "", http.Header{})
		o.End = got.status
		if err != nil {
			o.End = err.Error()
		}
		outcomes = append(outcomes, o)
	}
	json.NewEncoder(os.Stdout).Encode(outcomes)
}
`;

const hasGo = spawnSync('go', ['version']).status === 0;
const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;
const LANGUAGES: readonly { name: string; calling: Calling; skip: string | false }[] = [
  { name: 'JavaScript', calling: javaScript, skip: false },
  {
    name: 'Python',
    calling: (cases) => inProgram('py', 'python3 test.py', { 'sample.py': 'SAMPLE', 'test.py': PYTHON }, cases),
    skip: !hasRequests && 'python3 has no package requests',
  },
  {
    name: 'Go',
    async calling(cases) {
      const [sample = ''] = codeIn(text, 'When to retry', 'go');
      const files = { 'sample.go': sample.replaceAll('time.Sleep(', 'sleep('), 'main.go': GO };
      return inProgram('', 'go run main.go sample.go', files, cases);
    },
    skip: !hasGo && 'go is not installed',
  },
];

const LOST = null;

for (const { name, calling, skip } of LANGUAGES) {
  test(`the sample in ${name} retries what the table says, and a lost answer too`, { skip }, async () => {
    const retried = [{ status: 429, retryAfter: 7 }, { status: 503, retryAfter: 7 }, { status: 408 }, { status: 500 }];
    const outcomes = await calling([...retried, LOST].map((first) => [first, { status: 200 }]));
    for (const [index, { waits, sent, end }] of outcomes.entries()) {
      assert.deepEqual([end, sent, waits.length], [200, 2, 1]);
      const asked = (retried[index]?.retryAfter ?? 0) * 1_000;
      assert.ok(waits[0] !== undefined && waits[0] >= asked + 250 && waits[0] <= asked + 500, `${waits}`);
    }
    const final = [200, 201, 304, 400, 401, 404, 409, 412, 422, 501];
    for (const [index, outcome] of (await calling(final.map((status) => [{ status }]))).entries()) {
      assert.deepEqual(outcome, { waits: [], sent: 1, end: final[index] });
    }
  });

  test(`the sample in ${name} gives up after five attempts without another wait`, { skip }, async () => {
    const [busy, unreachable, spent] = await calling([
      [{ status: 503, retryAfter: 1 }],
      [LOST],
      [{ status: 429, retryAfter: 3_600 }],
    ]);
    assert.deepEqual([busy?.end, busy?.sent, busy?.waits.length], [503, 5, 4]);
    assert.ok(busy?.waits.every((wait, index) => wait >= 1_000 + 250 * 2 ** index && wait <= 1_000 + 500 * 2 ** index));
    assert.deepEqual([unreachable?.sent, unreachable?.waits.length], [5, 4]);
    assert.match(`${unreachable?.end}`, /lost/);
    assert.equal(spent?.sent, 1);
    assert.match(`${spent?.end}`, /^try again at 20\d\d-\d\d-\d\dT/i);
  });
}

test('the sample with curl retries what the table says', { skip: missingPrograms('curl') }, async () => {
  const [sample = ''] = codeIn(text, 'When to retry', 'sh');
  const calling = async (...answers: readonly Answer[]) => {
    let sent = 0;
    const server = createServer(({ socket }, response) => {
      const next = answers[Math.min(sent, answers.length - 1)];
      sent += 1;
      if (!next) socket.destroy();
      else response.writeHead(next.status, { ...(next.retryAfter && { 'Retry-After': next.retryAfter }) }).end('[]');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { stdout } = await run('sh', ['-c', sample.replaceAll('http://127.0.0.1:8080', url)]);
      return { sent, end: Number([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].at(-1)?.[1]) };
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };
  const good = { status: 200 };
  const retried = [{ status: 429, retryAfter: 1 }, { status: 503, retryAfter: 1 }, { status: 408 }, { status: 500 }];
  for (const outcome of await Promise.all([...retried, LOST].map((first) => calling(first, good)))) {
    assert.deepEqual(outcome, { sent: 2, end: 200 });
  }
  assert.deepEqual(await calling({ status: 404 }, good), { sent: 1, end: 404 });
  assert.deepEqual(await calling({ status: 429, retryAfter: 3_600 }, good), { sent: 1, end: 429 });
  assert.deepEqual(await calling({ status: 503, retryAfter: 1 }), { sent: 5, end: 503 });
});

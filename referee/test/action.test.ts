import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { ACTION, ACTION_TEXT, REFEREE, runAction } from './kit/action.ts';

/** The GitHub Action: its steps run here under bash, with an `npm` that only notes what it was asked for. */

const PROGRAM = fileURLToPath(new URL('./kit/program.ts', import.meta.url));
const API = fileURLToPath(new URL('./kit/api.ts', import.meta.url));
const START = `'${process.execPath}' '${API}'`;
const client = (...words: string[]) => `'${process.execPath}' '${PROGRAM}' ${words.join(' ')}`;

/** A workspace with a program `npm` of these lines. */
function workspace(npm = '') {
  const folder = temporaryFolder();
  const path = join(folder.path, 'bin');
  mkdirSync(path);
  writeFileSync(join(path, 'npm'), `#!/bin/sh\necho "$PWD: $*" >> '${folder.path}/npm.log'\n${npm}`);
  chmodSync(join(path, 'npm'), 0o755);
  return {
    path: folder.path,
    npmLog: () => readFileSync(join(folder.path, 'npm.log'), 'utf8'),
    run: (given: Record<string, string>) => runAction(given, { workspace: folder.path, path }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

test('every input is used, by an environment and never inside of a script, and no host is named', () => {
  assert.equal(ACTION.runs.using, 'composite');
  for (const [name, { description }] of Object.entries(ACTION.inputs)) {
    assert.match(description, /./, name);
    assert.ok(ACTION_TEXT.includes(`\${{ inputs.${name} }}`), `${name} is not used`);
  }
  for (const { run, shell } of ACTION.runs.steps) {
    assert.equal(shell, 'bash');
    assert.doesNotMatch(run, /\$\{\{/);
  }
  assert.doesNotMatch(ACTION_TEXT, /:\/\/|registry/);
});

test('a client that keeps the rules passes, with the verdict in the summary', async () => {
  using at = workspace();
  mkdirSync(join(at.path, 'sdk'));
  const { code, output, summary } = await at.run({
    command: `test "$PLACE" = "two words" && test "$(basename "$PWD")" = sdk\n${client()}`,
    start: START,
    env: 'API_URL={url}\n\nPLACE=two words\n',
    args: 'lost@POST\n--safe=POST /graphql\n',
    'working-directory': 'sdk',
  });
  assert.equal(code, 0, output);
  assert.match(summary, /^### The client, by kind of request and rule\n\n\|.* once .*\|\n\| ---/);
  assert.match(summary, /\n1 of 1 play, \d+ s\. Exit 0: no rule is broken\.\n$/);
  assert.match(at.npmLog(), /^.+: ci --workspace referee --workspace runtime --omit=dev --ignore-scripts /);
});

test('a client that breaks a rule fails the step, with an annotation and the rule in the summary', async () => {
  using at = workspace();
  const { code, output, summary } = await at.run({ command: client('no-key'), start: START, args: 'lost@POST' });
  assert.equal(code, 1, output);
  assert.match(output, /^::error title=once for POST \/api\/things::/m);
  assert.match(summary, /\n- once for POST \/api\/things: .* repeats .*; make one Idempotency-Key /);
});

test('a command that fails before any fault, or an API that is not named, is no verdict', async () => {
  using at = workspace();
  const unnamed = await at.run({ command: 'true' });
  assert.deepEqual([unnamed.code, unnamed.summary], [2, '']);
  assert.match(unnamed.output, /--upstream URL or --start COMMAND is missing/);
  const failing = await at.run({ command: 'false\ntrue', upstream: 'http://127.0.0.1:9' });
  assert.deepEqual([failing.code, failing.summary], [2, '']);
  assert.match(failing.output, /fails \(exit 1\) without a fault/);
});

test('a package that is named runs in place of the checkout', async () => {
  using at = workspace(
    'cd "$RUNNER_TEMP" && mkdir -p referee/node_modules/.bin\n' +
      'printf \'#!/bin/sh\\nprintf "%%s\\n" "$@"\' > referee/node_modules/.bin/api-referee\n' +
      'chmod +x referee/node_modules/.bin/api-referee\n',
  );
  const { code, output } = await at.run({ command: 'npm test', upstream: 'http://a/v1', package: './x y.tgz' });
  assert.equal(code, 0, output);
  assert.match(at.npmLog(), /: install --prefix \S+\/referee --no-audit --no-fund \.\/x y\.tgz\n$/);
  const words = ['client', '--github', '--upstream', 'http://a/v1', '--', 'bash', '-e', '-c', 'npm test'];
  assert.equal(output, `${words.join('\n')}\n`);
});

test('an npm that fails is not followed by a verdict', async () => {
  using at = workspace('exit 7\n');
  assert.deepEqual((await at.run({ command: 'true', start: START })).code, 7);
});

test('the step of the README has inputs of the action', () => {
  const readme = readFileSync(join(REFEREE, 'README.md'), 'utf8');
  const [step] = parse(/^```yaml\n(.*?)^```$/ms.exec(readme)?.[1] ?? '');
  assert.match(step.uses, /\/referee@/);
  assert.ok(step.with.command);
  assert.deepEqual(
    Object.keys(step.with).filter((name) => !(name in ACTION.inputs)),
    [],
  );
});

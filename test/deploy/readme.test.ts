import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openMachine } from '../kit/deploy/host.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { testService } from '../kit/service.ts';

/** Pastes the first requests of the README into a shell. `test/kit/deploy/host.ts` stands in for `npx`. */

const page = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');
const commands = [...page.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, text = '']) => text);
const READY = 'curl -fs --retry 60 --retry-delay 1 --retry-all-errors';

test('the README has the two commands that do everything', () => {
  for (const command of ['npm ci && npm start', 'npm ci && npm test']) assert.ok(commands.includes(command), command);
});

test('the first requests of the README work when they are pasted', async (t) => {
  const missing = missingPrograms('bash', 'curl', 'ps');
  if (missing) return t.skip(missing);
  const [list = '', create = '', ...others] = commands.filter((command) => command.includes('curl '));
  assert.deepEqual(others, []);
  await using machine = await openMachine();
  const here = (text: string) => [...machine.names].reduce((done, [there, ours]) => done.replaceAll(there, ours), text);
  await machine.prepare('systemctl start pet-catalog');
  await machine.prepare(here(`${READY} http://127.0.0.1:8081/readyz`));
  await machine.prepare('curl() { command curl --silent "$@"; }');

  assert.equal(await machine.prepare(here(list)), '[]');

  const [shown = ''] = /^HTTP\/1.1 201[^`]*/m.exec(page) ?? [];
  const printed = await machine.prepare(here(create));
  assert.match(printed, /^HTTP\/1.1 201 Created/);
  const headers = shown.match(/^[\w-]+: /gm) ?? [];
  assert.ok(headers.length >= 8);
  for (const name of headers) assert.ok(printed.includes(name), name);
  assert.equal(printed.split('\n').at(-1), shown.trim().split('\n').at(-1));
});

test('the mistake of the README is answered as it says', async () => {
  const [, path = '', shown = ''] = /`GET \/v1(\S+)` is answered:\n\n```\n(.*?)\n```/s.exec(page) ?? [];
  await using service = await testService();
  const { secret } = await service.issue();
  assert.equal(await (await service.call(secret, path)).text(), shown);
});

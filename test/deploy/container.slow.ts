import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { DEPLOY, parseContainerfile, text } from '../kit/deploy/files.ts';
import { freePort } from '../kit/deploy/port.ts';
import { json, temporaryFolder } from '../kit/service.ts';
import { buildExecutable } from './executable.ts';
import { openPodman } from './podman.ts';

const instructions = parseContainerfile(text('Containerfile'));
const last = (name: string) => instructions.findLast((instruction) => instruction.name === name)?.text ?? '';

test('the image serves on a read-only root, is healthy, and stops when told', async (t) => {
  using folder = temporaryFolder();
  const podman = openPodman(folder.path);
  if (typeof podman === 'string') return t.skip(podman);
  const context = join(folder.path, 'release');
  mkdirSync(context);
  const executable = join(context, 'pet-catalog-1.2.3-linux-x64');
  buildExecutable(executable);
  podman.importBase('base', executable);
  const how = ['--isolation', 'chroot', '--format', 'docker', '--build-arg', 'BASE=localhost/base'];
  podman.run('build', ...how, '--file', join(DEPLOY, 'Containerfile'), '--tag', 'pet-catalog', context);

  const [port, operatorPort] = [await freePort(), await freePort()];
  const settings = { HOST: '127.0.0.1', PORT: port, OPERATOR_PORT: operatorPort };
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const safe = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  podman.run('run', '--detach', '--name', 'service', ...podman.runOptions, ...safe, ...env, 'localhost/pet-catalog');
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilTrue(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200);
    const key = podman.run('exec', 'service', 'pet-catalog', 'keys', 'create', '--name', 'first');
    const created = await fetch(`${url}/v1/categories`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"name":"Dog"}',
    });
    assert.deepEqual([created.status, await json(created)], [201, { id: 1, name: 'Dog' }]);
    const probe: string[] = JSON.parse(/CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '[]');
    podman.run('exec', 'service', ...probe);
    const [program = '', ...args] = probe;
    assert.equal(spawnSync(program, args, { cwd: tmpdir() }).status, 1, 'where no service has noted where it listens');
    podman.run('stop', 'service');
    assert.equal(podman.run('inspect', '--format', '{{.State.ExitCode}}', 'service'), '0');
  } finally {
    podman.run('rm', '--force', '--volumes', 'service');
  }
});

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { readConfig, SETTINGS } from '../../src/config.ts';

const FOLDER = fileURLToPath(new URL('../../deploy', import.meta.url));
const VERSION = JSON.parse(readFileSync(join(FOLDER, '../package.json'), 'utf8')).version;

interface Compose {
  readonly name: string;
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, { readonly internal?: boolean } | null>>;
}

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
}

const single = read('compose.yaml');
const scaled = read('compose.scaled.yaml');

test('the files name only what is there', () => {
  for (const { name, services, volumes = {}, networks = {} } of [single, scaled]) {
    assert.match(name, /^[a-z0-9-]+$/);
    for (const [title, service] of Object.entries(services)) {
      for (const network of service.networks ?? []) assert.ok(network in networks, `${title}: ${network}`);
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        // The certificate is the operator's to put there.
        if (source.startsWith('./'))
          assert.ok(source === './tls' || existsSync(join(FOLDER, source)), `${title}: ${source}`);
        else assert.ok(source in volumes, `${title}: ${source}`);
      }
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        assert.equal(condition, 'service_healthy');
        assert.ok(services[other]?.healthcheck ?? services[other]?.build, `${title} waits for the health of ${other}`);
      }
      if (!service.build) continue;
      assert.equal(service.build.context, `../release/${VERSION}`);
      assert.ok(existsSync(join(FOLDER, service.build.context, service.build.dockerfile)));
    }
  }
});

test('every image is pinned to a version', () => {
  for (const { services } of [single, scaled])
    for (const { image, build } of Object.values(services))
      assert.match(
        image,
        build ? new RegExp(`^pet-catalog:${VERSION}$`) : /^[a-z]+:\d+\.\d+(\.\d+)?-bookworm(@sha256:[0-9a-f]{64})?$/,
      );
});

test('the service runs unprivileged on a read-only root and has time to stop', () => {
  for (const service of instances()) {
    assert.equal(service.read_only, true);
    assert.deepEqual([service.cap_drop, service.security_opt], [['ALL'], ['no-new-privileges:true']]);
    assert.ok(
      Number.parseInt(service.stop_grace_period ?? '', 10) > Number.parseInt(SETTINGS.SHUTDOWN_GRACE.default, 10),
    );
    assert.equal(service.restart, 'unless-stopped');
  }
});

test('the single instance listens on the loopback only, and of several only the proxy is published', () => {
  const { ports, environment = {}, volumes = [] } = single.services['pet-catalog'] ?? {};
  assert.deepEqual(ports, ['127.0.0.1:8080:8080', '127.0.0.1:8081:8081']);
  const { operatorHost, backups } = readConfig({ flags: {}, env: environment, file: {} });
  assert.equal(operatorHost, '0.0.0.0', 'the published port reaches the console');
  assert.ok(volumes.includes(`backups:${backups?.folder}`), 'backups outlive the container');
  const told = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
  for (const command of [`ls pet-catalog ${backups?.folder}\n`, `pet-catalog restore ${backups?.folder}/FILE\n`])
    assert.ok(told.includes(command), command);
  const published = Object.entries(scaled.services).filter(([, { ports }]) => ports);
  assert.deepEqual(
    published.map(([name, { ports }]) => [name, ports]),
    [['proxy', ['443:443']]],
  );
  assert.equal(scaled.networks?.inside?.internal, true);
  for (const [name, { networks }] of Object.entries(scaled.services))
    assert.deepEqual(networks, name === 'proxy' ? ['inside', 'outside'] : ['inside'], name);
});

test('several instances have settings that the service takes, and count as many as there are', () => {
  const several = instances().slice(1);
  for (const { environment = {} } of several) {
    for (const name of Object.keys(environment)) assert.ok(name in SETTINGS, name);
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, value.replace(/\$\{\w+:\?[^}]*\}/g, 'secret')]),
    );
    const { redis, database, operatorHosts } = readConfig({ flags: {}, env, file: {} });
    const names = Object.keys(scaled.services).filter((name) => scaled.services[name]?.build);
    assert.deepEqual(operatorHosts, names, 'Prometheus in their network calls them by name');
    assert.equal(redis?.instances, several.length);
    assert.equal(database.engine, 'postgres');
    assert.ok(new URL(redis?.url ?? '').hostname in scaled.services);
    assert.ok(new URL((database as { url: string }).url).hostname in scaled.services);
  }
});

test('Redis holds every count until its window ends, and none on disk', () => {
  const [program, ...options] = scaled.services.redis?.command ?? [];
  const pairs = Array.from({ length: options.length / 2 }, (_, index) => options.slice(2 * index, 2 * index + 2));
  assert.equal(program, 'redis-server');
  assert.deepEqual(Object.fromEntries(pairs), {
    '--save': '',
    '--appendonly': 'no',
    '--maxmemory': '256mb',
    '--maxmemory-policy': 'noeviction',
    '--requirepass': `\${REDIS_PASSWORD:?set it in deploy/.env}`,
  });
});

test('no password is in the files, and a missing one is reported by name', () => {
  for (const text of ['compose.yaml', 'compose.scaled.yaml'].map((file) => readFileSync(join(FOLDER, file), 'utf8')))
    for (const [, value = ''] of text.matchAll(/^\s*\w*PASSWORD\w*: (.*)$/gm))
      assert.match(value, /^\$\{\w+:\?set it in deploy\/\.env\}$/);
});

test('the proxy forwards to exactly these instances', () => {
  const upstream = readFileSync(join(FOLDER, 'nginx/upstream.scaled.conf'), 'utf8');
  const servers = [...upstream.matchAll(/^\s*server ([\w-]+):8080 /gm)].map(([, name]) => name);
  assert.deepEqual(
    servers,
    Object.keys(scaled.services).filter((name) => scaled.services[name]?.build),
  );
});

function read(file: string): Compose {
  return parse(readFileSync(join(FOLDER, file), 'utf8'), { merge: true });
}

function instances(): Service[] {
  return [single, scaled].flatMap(({ services }) => Object.values(services).filter(({ build }) => build));
}

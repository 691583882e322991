import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig, SETTINGS } from '../../src/config.ts';
import { text, yaml } from '../kit/deploy/files.ts';

const VERSION = JSON.parse(text('../package.json')).version;
const single = yaml('compose.yaml');
const scaled = yaml('compose.scaled.yaml');
const instances = [single, scaled].flatMap(({ services }) => Object.values<Service>(services)).filter(isBuilt);
const names = Object.keys(scaled.services).filter((name) => isBuilt(scaled.services[name]));

type Service = ReturnType<typeof yaml>;

function isBuilt({ build }: Service): boolean {
  return build !== undefined;
}

test('several instances have settings that the service takes, and the proxy forwards to exactly these', () => {
  const forwarded = [...text('nginx/upstream.scaled.conf').matchAll(/^\s*server ([\w-]+):8080 /gm)];
  assert.deepEqual([...new Set(forwarded.map(([, name]) => name))], names);
  for (const { image, build } of instances)
    assert.deepEqual([image, build.context], [`pet-catalog:${VERSION}`, `../release/${VERSION}`]);
  for (const { environment } of instances.slice(1)) {
    for (const name of Object.keys(environment)) assert.ok(name in SETTINGS, name);
    const env = JSON.parse(JSON.stringify(environment).replace(/\$\{\w+:\?[^}]*\}/g, 'secret'));
    const { redis, database, operatorHosts } = readConfig({ flags: {}, env, file: {} });
    assert.deepEqual(operatorHosts, names, 'Prometheus in their network calls them by name');
    assert.equal(redis?.instances, names.length);
    assert.ok(database.engine === 'postgres' && new URL(database.url).hostname in scaled.services);
    assert.ok(new URL(redis?.url ?? '').hostname in scaled.services);
  }
});

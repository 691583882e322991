import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as job } from 'kubernetes-models/_schemas/IoK8sApiBatchV1Job';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as secret } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Secret';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';
import { parse } from 'yaml';
import { readConfig, SETTINGS } from '../../src/config.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url));
const SCHEMAS: Record<string, (data: unknown) => boolean> = {
  'apps/v1 Deployment': deployment,
  'batch/v1 Job': job,
  'v1 ConfigMap': configMap,
  'v1 Secret': secret,
  'v1 Service': service,
  'networking.k8s.io/v1 NetworkPolicy': networkPolicy,
  'policy/v1 PodDisruptionBudget': disruptionBudget,
};

interface PodSpec {
  readonly securityContext: unknown;
  readonly containers: readonly [Container];
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly volumes?: readonly Record<string, unknown>[];
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: unknown;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string; readonly port: string } };
}

// biome-ignore lint/suspicious/noExplicitAny: what a manifest is, its schema says, in the first test
const manifests = new Map<string, any>(
  readdirSync(FOLDER).map((file) => [file, parse(readFileSync(join(FOLDER, file), 'utf8'))]),
);
const config = manifests.get('configmap.yaml').data as Record<string, string>;
const secrets = manifests.get('secret.example.yaml').stringData as Record<string, string>;
const pods: PodSpec[] = ['deployment.yaml', 'migrate.yaml'].map((file) => manifests.get(file).spec.template.spec);
const [pod] = pods as [PodSpec];

test('every manifest is valid by the schema of its kind, and has no member that the schema does not know', () => {
  const objects = [...manifests].filter(([file]) => file !== 'kustomization.yaml');
  assert.equal(objects.length, Object.keys(SCHEMAS).length);
  for (const [file, object] of objects) {
    const validate = SCHEMAS[`${object.apiVersion} ${object.kind}`];
    assert.ok(validate, file);
    const { read, unread } = watched(object);
    assert.ok(validate(read), `${file}: ${JSON.stringify((validate as { errors?: unknown }).errors)}`);
    assert.deepEqual(unread(), [], file);
  }
});

test('a wrong type and an unknown member would be found', () => {
  const [object, schema] = [manifests.get('deployment.yaml'), deployment];
  assert.ok(!schema({ ...object, spec: { ...object.spec, replicas: 'three' } }));
  const { read, unread } = watched({ ...object, spec: { ...object.spec, replica: 3 } });
  assert.ok(schema(read));
  assert.deepEqual(unread(), ['/spec/replica']);
});

test('the kustomization names files that are there', () => {
  const { resources } = manifests.get('kustomization.yaml') as { resources: string[] };
  assert.ok(resources.length >= 5);
  for (const file of resources) assert.ok(manifests.has(file), file);
  if (spawnSync('kubectl', ['version', '--client']).status !== 0) return;
  const { status, stderr } = spawnSync('kubectl', ['kustomize', FOLDER], { encoding: 'utf8', timeout: 30_000 });
  assert.equal(status, 0, stderr);
});

test('the pods comply with the restricted Pod Security Standard', () => {
  for (const { securityContext, containers, automountServiceAccountToken, volumes = [] } of pods) {
    const { runAsNonRoot, runAsUser, seccompProfile } = securityContext as Record<string, unknown>;
    assert.deepEqual([runAsNonRoot, runAsUser, seccompProfile], [true, 1000, { type: 'RuntimeDefault' }]);
    assert.deepEqual(containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.equal(automountServiceAccountToken, false);
    for (const volume of volumes) assert.ok('emptyDir' in volume);
  }
});

test('the probes ask the operator listener, and only readiness depends on others', () => {
  const [container] = pod.containers;
  const [paths, ports] = (['path', 'port'] as const).map((member) =>
    ['startup', 'liveness', 'readiness'].map((kind) => container[`${kind}Probe`]?.httpGet[member]),
  );
  assert.deepEqual(paths, ['/livez', '/livez', '/readyz']);
  assert.deepEqual(ports, ['operator', 'operator', 'operator']);
  const named = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, `${containerPort}`]));
  assert.deepEqual(named, { http: SETTINGS.PORT.default, operator: SETTINGS.OPERATOR_PORT.default });
  assert.ok(
    !manifests
      .get('service.yaml')
      .spec.ports.some(({ targetPort }: { targetPort: string }) => targetPort === 'operator'),
  );
});

test('the settings are ones that the service takes, and fit the manifests', () => {
  const { redis, shutdownGraceMs } = readConfig({ flags: {}, env: { ...config, ...secrets }, file: {} });
  for (const name of [...Object.keys(config), ...Object.keys(secrets)]) assert.ok(name in SETTINGS, name);
  assert.equal(redis?.instances, manifests.get('deployment.yaml').spec.replicas);
  const [{ lifecycle }] = pod.containers;
  assert.ok(pod.terminationGracePeriodSeconds * 1000 > shutdownGraceMs + lifecycle.preStop.sleep.seconds * 1000);
});

/** The same data, recording which members were never read: a schema reads every member it knows. */
function watched(data: object): { read: unknown; unread: () => string[] } {
  const unread = new Set<string>();
  const watch = (value: unknown, path: string): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, watch(member, `${path}/${name}`)]),
    );
    if (Array.isArray(value)) return Object.values(members);
    for (const name of Object.keys(members)) unread.add(`${path}/${name}`);
    return new Proxy(members, {
      get(target, name) {
        unread.delete(`${path}/${String(name)}`);
        return target[String(name)];
      },
    });
  };
  return { read: watch(data, ''), unread: () => [...unread] };
}

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as job } from 'kubernetes-models/_schemas/IoK8sApiBatchV1Job';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as secret } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Secret';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';
import { readConfig, SETTINGS } from '../../src/config.ts';
import { DEPLOY, text, yaml } from '../kit/deploy/files.ts';

const FOLDER = `${DEPLOY}/kubernetes`;
const SCHEMAS: Record<string, (data: unknown) => boolean> = {
  'apps/v1 Deployment': deployment,
  'batch/v1 Job': job,
  'v1 ConfigMap': configMap,
  'v1 Secret': secret,
  'v1 Service': service,
  'networking.k8s.io/v1 NetworkPolicy': networkPolicy,
  'policy/v1 PodDisruptionBudget': disruptionBudget,
};

const manifests = new Map(readdirSync(FOLDER).map((file) => [file, yaml(`kubernetes/${file}`)]));
const config = manifests.get('configmap.yaml').data;
const secrets = manifests.get('secret.example.yaml').stringData;
const { spec } = manifests.get('deployment.yaml');
const pods = [spec.template.spec, manifests.get('migrate.yaml').spec.template.spec];
const [pod] = pods;
const [container] = pod.containers;

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

test('the pods comply with the restricted Pod Security Standard', () => {
  for (const { securityContext, containers, automountServiceAccountToken, volumes = [] } of pods) {
    const { runAsNonRoot, runAsUser, seccompProfile } = securityContext;
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

test('the probes ask the operator listener, and no pod is taken out because the database is away', () => {
  for (const [kind, path] of [
    ['startup', '/livez'],
    ['liveness', '/livez'],
    ['readiness', '/readyz/reads'],
  ] as const)
    assert.deepEqual(container[`${kind}Probe`].httpGet, { path, port: 'operator' }, kind);
  assert.deepEqual(container.ports, [
    { name: 'http', containerPort: Number(SETTINGS.PORT.default) },
    { name: 'operator', containerPort: Number(SETTINGS.OPERATOR_PORT.default) },
  ]);
  for (const { targetPort } of manifests.get('service.yaml').spec.ports) assert.equal(targetPort, 'http');
});

test('a pod that hangs gets no requests after two seconds, and a roll-out takes none away before the next is ready', () => {
  const { periodSeconds, timeoutSeconds, failureThreshold } = container.readinessProbe;
  assert.ok(periodSeconds * failureThreshold + timeoutSeconds <= 2);
  assert.ok(container.startupProbe.periodSeconds * container.startupProbe.failureThreshold >= 60, 'time to migrate');
  assert.equal(spec.strategy.rollingUpdate.maxUnavailable, 0);
  const { maxUnavailable, unhealthyPodEvictionPolicy } = manifests.get('poddisruptionbudget.yaml').spec;
  assert.deepEqual([maxUnavailable, unhealthyPodEvictionPolicy], [1, 'AlwaysAllow']);
});

test('the settings are ones that the service takes, and fit the manifests, which are of this version', () => {
  const image = `pet-catalog:${JSON.parse(text('../package.json')).version}`;
  for (const { containers } of pods) assert.equal(containers[0].image, image);
  assert.deepEqual([container.args, pods[1].containers[0].args], [['serve'], ['migrate']]);
  assert.deepEqual(container.envFrom, [
    { configMapRef: { name: 'pet-catalog' } },
    { secretRef: { name: 'pet-catalog' } },
  ]);
  for (const name of [...Object.keys(config), ...Object.keys(secrets)]) assert.ok(name in SETTINGS, name);
  const { redis, shutdownGraceMs } = readConfig({ flags: {}, env: { ...config, ...secrets }, file: {} });
  assert.equal(redis?.instances, spec.replicas);
  assert.ok(
    pod.terminationGracePeriodSeconds * 1000 > shutdownGraceMs + container.lifecycle.preStop.sleep.seconds * 1000,
  );
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

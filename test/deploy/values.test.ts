import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseContainerfile } from '../kit/deploy/containerfile.ts';
import { text, yaml } from '../kit/deploy/files.ts';

/** The values in deploy/ that no other file fixes: their reasons stand beside them, and a change of one is meant. */

/** The values of a directive of nginx or Caddy, in their order. */
function directives(file: string, name: string): string[] {
  return [...text(file).matchAll(new RegExp(`^\\s*${name} (.*?) ?[;{]?$`, 'gm'))].map(([, value = '']) => value.trim());
}

const PROXIES: Record<string, Record<string, readonly string[]>> = {
  'nginx/pet-catalog.conf': {
    listen: ['443 ssl', '[::]:443 ssl'],
    server_name: ['_'],
    server_tokens: ['off'],
    access_log: ['/var/log/nginx/access.log pet_catalog'],
    ssl_certificate: ['/etc/pet-catalog/tls/fullchain.pem'],
    ssl_certificate_key: ['/etc/pet-catalog/tls/privkey.pem'],
    ssl_session_cache: ['shared:pet_catalog:10m'],
    ssl_session_timeout: ['1d'],
    ssl_session_tickets: ['off'],
    keepalive_requests: ['10000'],
    limit_conn_zone: ['$binary_remote_addr zone=pet_catalog_address:10m'],
    limit_conn_status: ['503'],
    client_max_body_size: ['16m'],
    large_client_header_buffers: ['4 32k'],
    gzip: ['on'],
    gzip_types: ['application/json text/css text/javascript application/yaml'],
    gzip_proxied: ['any'],
    gzip_vary: ['on'],
    gzip_min_length: ['1024'],
    gzip_comp_level: ['4'],
    map: ['$msec $pet_catalog_now', '$status $pet_catalog_error', '$status $pet_catalog_retry_after'],
    proxy_pass: ['http://pet_catalog'],
    proxy_http_version: ['1.1'],
    proxy_set_header: ['Connection ""', 'Host $host'],
    proxy_connect_timeout: ['2s'],
    proxy_buffers: ['64 16k'],
    proxy_buffer_size: ['16k'],
    proxy_max_temp_file_size: ['0'],
    error_page: [
      '400 405 408 413 414 500 501 505 /pet-catalog-error',
      '494 =431 /pet-catalog-error',
      '495 496 497 =400 /pet-catalog-error',
      '502 503 504 =503 /pet-catalog-error',
    ],
    return: ['200 $pet_catalog_error'],
    405: [`'{"code":"method_not_allowed","message":"This method is not allowed","status":405}'`],
    408: [`'{"code":"request_timeout","message":"The request took too long to arrive","status":408}'`],
    413: [`'{"code":"payload_too_large","message":"The body is too large; send at most 262144 bytes","status":413}'`],
    414: [`'{"code":"uri_too_long","message":"The address is too long; send at most 8192 characters","status":414}'`],
    431: [`'{"code":"headers_too_large","message":"The headers are too large; send at most 16 KiB","status":431}'`],
    500: [`'{"code":"internal_error","message":"The request failed","status":500}'`],
    501: [`'{"code":"not_implemented","message":"This is not implemented","status":501}'`],
    503: [`'{"code":"unavailable","message":"The service does not answer; try again","status":503}'`, '1'],
    505: [`'{"code":"http_version_not_supported","message":"Send HTTP/1.1","status":505}'`],
    default: [`'{"code":"malformed_request","message":"The request is not HTTP over TLS","status":400}'`],
  },
  'nginx/upstream.conf': { server: ['127.0.0.1:8080 max_fails=0'], keepalive: ['64'], keepalive_timeout: ['60s'] },
  'nginx/upstream.scaled.conf': {
    server: ['pet-catalog-1:8080 max_fails=3 fail_timeout=5s', 'pet-catalog-2:8080 max_fails=3 fail_timeout=5s'],
    keepalive: ['64'],
    keepalive_timeout: ['60s'],
  },
  'caddy/Caddyfile': {
    auto_https: ['disable_redirects'],
    max_header_size: ['64KiB'],
    gzip: ['4'],
    minimum_length: ['1024'],
    header: [
      'Content-Type application/json*',
      'Content-Type text/*',
      'Strict-Transport-Security "max-age=31536000"',
      '',
      'Retry-After 1',
    ],
    max_size: ['16MiB'],
    reverse_proxy: ['127.0.0.1:8080'],
    dial_timeout: ['2s'],
    keepalive: ['60s'],
    keepalive_idle_conns_per_host: ['64'],
    compression: ['off'],
    versions: ['1.1'],
    '@too_large': ['expression `{err.status_code} == 413`'],
    respond: [
      '`{"code":"payload_too_large","message":"The body is too large; send at most 262144 bytes","status":413}` 413',
      '`{"code":"unavailable","message":"The service does not answer; try again","status":503}` 503',
    ],
  },
};

test('the proxies limit, compress, buffer and close as they were measured', () => {
  for (const [file, values] of Object.entries(PROXIES))
    for (const [name, wanted] of Object.entries(values))
      assert.deepEqual(directives(file, name), wanted, `${file}: ${name}`);
});

test('the image holds what the executable needs, keeps its data apart, and is probed every ten seconds', () => {
  const instructions = parseContainerfile(text('Containerfile')).map(({ name, text: rest }) => `${name} ${rest}`);
  assert.deepEqual(instructions, [
    'ARG BASE=debian:12.12-slim',
    'FROM $BASE',
    'RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*',
    'RUN install -d -o 1000 -g 1000 -m 700 /data /backups',
    'ARG PLATFORM=linux-x64',
    'COPY --chmod=755 pet-catalog-*-$PLATFORM /usr/local/bin/pet-catalog',
    'ENV HOST=0.0.0.0 DATABASE_URL=sqlite:/data/pet-catalog.db',
    'USER 1000:1000',
    'WORKDIR /data',
    'VOLUME /data',
    'EXPOSE 8080',
    `HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\${OPERATOR_PORT:-8081} && echo -e 'GET /livez HTTP/1.0\\\\r\\\\n\\\\r' >&3 && read -r _ status _ <&3 && [ \\"$status\\" = 200 ]"]`,
    'STOPSIGNAL SIGTERM',
    'ENTRYPOINT ["pet-catalog"]',
    'CMD ["serve"]',
  ]);
});

/** A password is in `deploy/.env` alone. */
const ofEnv = (name: string) => `\${${name}:?set it in deploy/.env}`;
const LOGS = { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } };
const UNPRIVILEGED = ['no-new-privileges:true'];
/** What Compose gives each service, beside its image and its settings. */
const BOUNDS = {
  read_only: true,
  tmpfs: ['/tmp'],
  cap_drop: ['ALL'],
  security_opt: UNPRIVILEGED,
  pids_limit: 100,
  mem_limit: '512m',
  stop_grace_period: '15s',
  restart: 'unless-stopped',
  logging: LOGS,
};

test('Compose bounds memory, processes and logs, and keeps what a database needs', () => {
  const { services: single, volumes } = yaml('compose.yaml');
  const scaled = yaml('compose.scaled.yaml');
  const {
    build: _build,
    image: _image,
    ports: _ports,
    environment,
    volumes: mounts,
    ...bounds
  } = single['pet-catalog'];
  assert.deepEqual(environment, { OPERATOR_HOST: '0.0.0.0', BACKUP_DIR: '/backups' });
  assert.deepEqual(
    [bounds, mounts, volumes],
    [BOUNDS, ['data:/data', 'backups:/backups'], { data: null, backups: null }],
  );
  for (const name of ['pet-catalog-1', 'pet-catalog-2']) {
    const { build: _build, image: _image, environment: own, depends_on, networks, ...rest } = scaled.services[name];
    assert.deepEqual(rest, BOUNDS, name);
    assert.deepEqual(Object.keys(depends_on), ['postgres', 'redis']);
    assert.deepEqual(own, {
      DATABASE_URL: `postgres://petcatalog:${ofEnv('POSTGRES_PASSWORD')}@postgres:5432/petcatalog`,
      REDIS_URL: `redis://:${ofEnv('REDIS_PASSWORD')}@redis:6379`,
      INSTANCES: '2',
      OPERATOR_HOST: '0.0.0.0',
      OPERATOR_HOSTS: 'pet-catalog-1,pet-catalog-2',
    });
  }
  const healthy = { condition: 'service_healthy' };
  const often = { interval: '5s', timeout: '3s', retries: 10 };
  const { proxy, postgres, redis } = scaled.services;
  assert.deepEqual(proxy, {
    image: 'nginx:1.28.0-bookworm',
    restart: 'unless-stopped',
    depends_on: { 'pet-catalog-1': healthy, 'pet-catalog-2': healthy },
    ports: ['443:443'],
    networks: ['inside', 'outside'],
    volumes: [
      './nginx/pet-catalog.conf:/etc/nginx/conf.d/default.conf:ro',
      './nginx/upstream.scaled.conf:/etc/nginx/conf.d/upstream.conf:ro',
      './tls:/etc/pet-catalog/tls:ro',
    ],
    read_only: true,
    tmpfs: ['/var/cache/nginx', '/run', '/tmp'],
    security_opt: UNPRIVILEGED,
    logging: LOGS,
  });
  assert.deepEqual(postgres, {
    image: 'postgres:18.1-bookworm',
    restart: 'unless-stopped',
    stop_grace_period: '60s',
    environment: {
      POSTGRES_USER: 'petcatalog',
      POSTGRES_DB: 'petcatalog',
      POSTGRES_PASSWORD: ofEnv('POSTGRES_PASSWORD'),
    },
    healthcheck: { test: ['CMD', 'pg_isready', '-h', '127.0.0.1', '-U', 'petcatalog', '-d', 'petcatalog'], ...often },
    networks: ['inside'],
    volumes: ['postgres:/var/lib/postgresql'],
    shm_size: '128m',
    security_opt: UNPRIVILEGED,
    logging: LOGS,
  });
  const { command, environment: _, ...redisBounds } = redis;
  assert.deepEqual(redisBounds, {
    image: 'redis:8.2.2-bookworm',
    restart: 'unless-stopped',
    healthcheck: { test: ['CMD', 'redis-cli', 'ping'], ...often },
    networks: ['inside'],
    read_only: true,
    tmpfs: ['/data'],
    security_opt: UNPRIVILEGED,
    logging: LOGS,
  });
});

const NAME = 'pet-catalog';
const labelsOf = (name: string) => ({ 'app.kubernetes.io/name': name });

test('Kubernetes starts, probes, spreads and ends pods in time, and takes them out of service soon', () => {
  const { spec } = yaml('kubernetes/deployment.yaml');
  assert.equal(spec.revisionHistoryLimit, 5);
  const { annotations } = spec.template.metadata;
  assert.deepEqual(annotations, { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8081' });
  const { containers, securityContext: _, ...pod } = spec.template.spec;
  const spread = (topologyKey: string) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labelsOf(NAME) },
  });
  assert.deepEqual(pod, {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    topologySpreadConstraints: [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')],
    volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } }],
  });
  const { startupProbe, livenessProbe, readinessProbe, lifecycle, volumeMounts, args, envFrom } = containers[0];
  const asks = (path: string) => ({ httpGet: { path, port: 'operator' } });
  assert.deepEqual(startupProbe, { ...asks('/livez'), periodSeconds: 1, failureThreshold: 60 });
  assert.deepEqual(livenessProbe, { ...asks('/livez'), periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 3 });
  assert.deepEqual(readinessProbe, { ...asks('/readyz'), periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 });
  assert.deepEqual(lifecycle, { preStop: { sleep: { seconds: 5 } } });
  assert.deepEqual([args, volumeMounts], [['serve'], [{ name: 'tmp', mountPath: '/tmp' }]]);
  assert.deepEqual(envFrom, [{ configMapRef: { name: NAME } }, { secretRef: { name: NAME } }]);
  assert.deepEqual(yaml('kubernetes/configmap.yaml').data, {
    INSTANCES: '3',
    OPERATOR_HOST: '0.0.0.0',
    PRODUCTION_BASE_URL: 'https://api.example.com/v1',
    SHUTDOWN_GRACE: '10s',
  });
  assert.deepEqual(yaml('kubernetes/kustomization.yaml').resources, [
    'configmap.yaml',
    'deployment.yaml',
    'service.yaml',
    'poddisruptionbudget.yaml',
    'networkpolicy.yaml',
  ]);
  for (const file of ['configmap', 'deployment', 'service', 'poddisruptionbudget', 'networkpolicy', 'secret.example']) {
    const { name, labels } = yaml(`kubernetes/${file}.yaml`).metadata;
    assert.deepEqual([name, labels], [NAME, labelsOf(NAME)], file);
  }
  assert.equal(yaml('kubernetes/service.yaml').spec.type, undefined, 'reachable in the cluster only');
});

test('the network policy lets in the proxy and Prometheus, and out what the service asks', () => {
  const from = (name: string) => [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }];
  const tcp = (port: number | string) => ({ port, protocol: 'TCP' });
  const { policyTypes, ingress, egress } = yaml('kubernetes/networkpolicy.yaml').spec;
  assert.deepEqual(policyTypes, ['Ingress', 'Egress']);
  assert.deepEqual(ingress, [
    { from: from('ingress'), ports: [tcp('http')] },
    { from: from('monitoring'), ports: [tcp('operator')] },
  ]);
  assert.deepEqual(egress, [
    { to: from('kube-system'), ports: [{ port: 53, protocol: 'UDP' }, tcp(53)] },
    { ports: [5_432, 6_379, 4_317, 4_318].map(tcp) },
  ]);
});

test('a migration has ten minutes, two more attempts, and the database alone', () => {
  const { metadata, spec } = yaml('kubernetes/migrate.yaml');
  const { name, labels } = metadata;
  assert.deepEqual(
    [name, labels, spec.template.metadata.labels],
    ['pet-catalog-migrate', labelsOf(name), labelsOf(name)],
  );
  assert.deepEqual([spec.activeDeadlineSeconds, spec.backoffLimit], [600, 2]);
  const { enableServiceLinks, containers } = spec.template.spec;
  assert.equal(enableServiceLinks, false);
  const [{ image, env, resources }] = containers;
  assert.equal(image, yaml('kubernetes/deployment.yaml').spec.template.spec.containers[0].image);
  assert.equal(image, `pet-catalog:${JSON.parse(text('../package.json')).version}`);
  const { type, stringData } = yaml('kubernetes/secret.example.yaml');
  assert.deepEqual(
    [type, stringData],
    [
      'Opaque',
      {
        DATABASE_URL: 'postgres://petcatalog:PASSWORD@postgres.example.internal:5432/petcatalog?sslmode=verify-full',
        REDIS_URL: 'rediss://:PASSWORD@redis.example.internal:6379',
      },
    ],
  );
  const key = 'DATABASE_URL';
  assert.deepEqual(env, [{ name: key, valueFrom: { secretKeyRef: { name: NAME, key } } }]);
  assert.deepEqual(resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } });
});

test('the unit of systemd starts after what it needs, and may do no more than it needs', () => {
  const unit = text('systemd/pet-catalog.service');
  const lines = unit.split('\n').filter((line) => /^\w+=/.test(line));
  const isYes = (line: string) => line.endsWith('=yes');
  assert.deepEqual(
    lines.filter(isYes).map((line) => line.replace('=yes', '')),
    [
      ...[
        'NoNewPrivileges',
        'ProtectHome',
        'PrivateTmp',
        'PrivateDevices',
        'PrivateUsers',
        'PrivateIPC',
        'PrivateMounts',
      ],
      ...['ProtectClock', 'ProtectHostname', 'ProtectKernelLogs', 'ProtectKernelModules', 'ProtectKernelTunables'],
      ...['ProtectControlGroups', 'RestrictNamespaces', 'RestrictRealtime', 'RestrictSUIDSGID', 'RemoveIPC'],
      'LockPersonality',
    ],
  );
  assert.deepEqual(
    lines.filter((line) => !isYes(line)),
    [
      'Description=Pet Catalog Service',
      'Wants=network-online.target',
      'After=network-online.target postgresql.service redis-server.service',
      'StartLimitIntervalSec=0',
      'Type=exec',
      'User=pet-catalog',
      'Group=pet-catalog',
      'WorkingDirectory=/srv/pet-catalog',
      'ExecStart=/usr/local/bin/pet-catalog serve',
      'Restart=on-failure',
      'RestartPreventExitStatus=2',
      'RestartSec=1s',
      'TimeoutStopSec=15s',
      'UMask=0077',
      'LimitNOFILE=32768',
      'MemoryMax=1G',
      'TasksMax=100',
      'CapabilityBoundingSet=',
      'AmbientCapabilities=',
      'ProtectSystem=strict',
      'ReadWritePaths=/srv/pet-catalog/data /srv/pet-catalog/backups',
      'ProtectProc=invisible',
      'ProcSubset=pid',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
      'DevicePolicy=closed',
      'KeyringMode=private',
      'SystemCallArchitectures=native',
      'SystemCallFilter=@system-service',
      'SystemCallFilter=~@privileged @resources',
      'SystemCallErrorNumber=EPERM',
      'WantedBy=multi-user.target',
    ],
  );
  const [, home] = /^WorkingDirectory=(.*)$/m.exec(unit) ?? [];
  const made = `u pet-catalog - "Pet Catalog Service" ${home}`;
  assert.deepEqual(text('systemd/pet-catalog.sysusers.conf').trim().split('\n').slice(1), [made]);
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { temporaryFolder } from '../test/kit/folder.ts';
import { type Config, type ConfigMistakes, findIneffective, readConfig } from './config.ts';

const configOf = (env: Readonly<Record<string, string | undefined>>) => readConfig({ flags: {}, env, file: {} });

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const ACCESS_LOGS = ['all', 'errors', 'none'] as const;

const READ: readonly (readonly [settings: string, Partial<Config>])[] = [
  ['PORT=0', { port: 0, operatorPort: 0 }],
  ['PORT=0\nOPERATOR_PORT=9', { port: 0, operatorPort: 9 }],
  ['HOST=0.0.0.0\nOPERATOR_HOST=::1\nPORT=1\nOPERATOR_PORT=1', { port: 1, operatorPort: 1 }],
  ['HOST=127.0.0.2\nPORT=65535\nOPERATOR_PORT=65535', { port: 65_535, operatorPort: 65_535 }],
  ['OPERATOR_HOSTS=" ops.example,,b_1-2 "', { operatorHosts: ['ops.example', 'b_1-2'] }],
  [
    'OPERATOR_IDENTITY_HEADER=X-User\nOPERATOR_IDENTITY_PROXIES=::1, 10.0.0.0/8\nOPERATOR_ROLES=a=b=admin,',
    { identity: { header: 'x-user', proxies: ['::1', '10.0.0.0/8'], roles: [{ name: 'a=b', role: 'admin' }] } },
  ],
  ['DATABASE_URL=sqlite:x.db', { database: { engine: 'sqlite', file: 'x.db' } }],
  ['DATABASE_URL=sqlite:///none/x.db', { database: { engine: 'sqlite', file: '/none/x.db' } }],
  ['DATABASE_URL=sqlite:a?b/c=d.db', { database: { engine: 'sqlite', file: 'a?b/c=d.db' } }],
  ['DATABASE_URL=sqlite::memory:', { database: { engine: 'sqlite', file: ':memory:' } }],
  ['DATABASE_URL=postgresql://h/d', { database: { engine: 'postgres', url: 'postgresql://h/d' } }],
  ['REDIS_URL=redis://h\nINSTANCES=1000', { redis: { url: 'redis://h', instances: 1_000 } }],
  ['REDIS_URL=rediss://:p@h:1/2\nINSTANCES=1', { redis: { url: 'rediss://:p@h:1/2', instances: 1 } }],
  ['INSTANCES=1', { redis: undefined }],
  [
    'PRODUCTION_BASE_URL=https://a.example/v1/',
    { baseUrls: { production: 'https://a.example/v1', staging: undefined } },
  ],
  [
    'STAGING_BASE_URL=HTTP://a.example:1/b/v1',
    { baseUrls: { production: undefined, staging: 'HTTP://a.example:1/b/v1' } },
  ],
  ['CATEGORIES_MAX=1\nCATEGORIES_BYTES_MAX=1024', { categoriesMax: 1, categoriesBytesMax: 1_024 }],
  ['CATEGORIES_MAX=1000000', { categoriesMax: 1_000_000 }],
  ['CATEGORIES_BYTES_MAX=1073741824', { categoriesBytesMax: 1_073_741_824 }],
  ['BAN_AFTER_REFUSALS=0', { banAfterRefusals: 0 }],
  ['BAN_AFTER_REFUSALS=1000000000', { banAfterRefusals: 1_000_000_000 }],
  ['BACKUP_DIR=b\nBACKUP_EVERY=1s\nBACKUP_KEEP=1', { backups: { folder: 'b', everySeconds: 1, keep: 1 } }],
  [
    'BACKUP_DIR=b\nBACKUP_EVERY=366d\nBACKUP_KEEP=10000',
    { backups: { folder: 'b', everySeconds: 366 * 86_400, keep: 10_000 } },
  ],
  ['CORS_ORIGINS=https://a.example:1, *,', { corsOrigins: ['https://a.example:1', '*'] }],
  ['SECURITY_CONTACT=a@b.example', { securityContact: 'mailto:a@b.example' }],
  ['SECURITY_CONTACT=mailto:a@b.example', { securityContact: 'mailto:a@b.example' }],
  ['SECURITY_CONTACT=https://b.example/x', { securityContact: 'https://b.example/x' }],
  ['CONNECTIONS_MAX=12000', { connectionsMax: 12_000 }],
  ['SHUTDOWN_GRACE=0', { shutdownGraceMs: 0 }],
  ['SHUTDOWN_GRACE=1d', { shutdownGraceMs: 86_400_000 }],
  ...LOG_LEVELS.map((logLevel) => [`LOG_LEVEL=${logLevel}`, { logLevel }] as const),
  ...ACCESS_LOGS.map((accessLog) => [`ACCESS_LOG=${accessLog}`, { accessLog }] as const),
];

test('each setting is read up to its bounds', () => {
  for (const [settings, wanted] of READ) {
    const config = configOf(parseEnv(settings));
    const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, config[name as keyof Config]]));
    assert.deepEqual(found, wanted, settings);
  }
});

/** What a value must be, by setting, and values that are not. */
const REFUSED: Record<string, readonly [wanted: string, ...values: string[]]> = {
  HOST: ['an address', ' '],
  PORT: ['a whole number from 0 to 65535', '65536', '-1', '1.5', '1e3', '00000000080'],
  OPERATOR_PORT: ['a whole number from 0 to 65535', '65536'],
  OPERATOR_HOSTS: [
    'names such as ops.example, without scheme and port, separated by commas',
    'https://ops.example',
    'ops.example:8081',
    'a b',
    '*',
  ],
  OPERATOR_IDENTITY_HEADER: ['the name of a header, such as X-Forwarded-User', 'X User', 'X-User: ann'],
  OPERATOR_IDENTITY_PROXIES: ['addresses or CIDRs such as 10.0.0.1 or 10.0.0.0/8, separated by commas', '0.0.0.0/0'],
  OPERATOR_ROLES: ['NAME=ROLE with the roles viewer, keys, admin, separated by commas', 'admins', 'a=root', '=admin'],
  ENVIRONMENT: ['one of production, staging', 'Staging'],
  PRODUCTION_BASE_URL: [
    'an http or https address that ends in /v1',
    'https://a.example',
    'ftp://a.example/v1',
    'https://a.example/v1?a',
    'https:///v1',
    'https://a b.example/v1',
    'https://a.example/V1',
    'a.example/v1',
  ],
  CATEGORIES_MAX: ['a whole number from 1 to 1000000', '0', '1000001'],
  CATEGORIES_BYTES_MAX: ['a whole number from 1024 to 1073741824', '1023', '1073741825'],
  BAN_AFTER_REFUSALS: ['a whole number from 0 to 1000000000', '1000000001', '-1'],
  INSTANCES: ['a whole number from 1 to 1000', '0', '1001'],
  CONNECTIONS_MAX: ['a whole number from 1 to 1000000', '0', '1000001'],
  BACKUP_EVERY: ['a duration such as 10m, 6h or 24h', '0', '367d', '400d', '5'],
  BACKUP_KEEP: ['a whole number from 1 to 10000', '0', '10001'],
  CORS_ORIGINS: [
    'origins such as https://shop.example, separated by commas',
    'https://a.example/',
    'a.example',
    '**',
    'https://a.example https://b.example',
  ],
  SECURITY_CONTACT: [
    'an e-mail address, or a mailto: or https: address',
    'security',
    'http://example.org',
    'javascript:alert(1)',
    'mailto:',
    'a@b.org\nExpires: never',
    'https://b.example/a b',
  ],
  LOG_LEVEL: ['one of trace, debug, info, warn, error, fatal, silent', 'loud'],
  ACCESS_LOG: ['one of all, errors, none', 'some'],
  SHUTDOWN_GRACE: ['a duration of at most a day, such as 10s, 5m or 1h', '86401s', '5', '-1s'],
};

const DATABASE = 'it must be sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE (from the environment)';
const POSTGRES = 'it must be postgres://USER:PASSWORD@HOST/DATABASE';
const REDIS = 'it must be redis://:PASSWORD@HOST:PORT/NUMBER,';
const ESCAPED = 'with @ / ? # and % in a password written %40 %2F %3F %23 and %25 (from the environment)';

/** Settings that are refused together, and what is told of them. */
const TOGETHER: Readonly<Record<string, string>> = {
  'REDIS_URL=redis://h': 'INSTANCES: it must say how many instances there are when REDIS_URL is set',
  'PORT=8081': 'OPERATOR_PORT: it must be another port than PORT, not 8081 too',
  'INSTANCES=2': 'REDIS_URL: it must be set for several INSTANCES to count together',
  'DATABASE_URL=mysql://h': `DATABASE_URL: ${DATABASE}`,
  'DATABASE_URL=sqlite://x.db': `DATABASE_URL: ${DATABASE}`,
  'PRODUCTION_BASE_URL=https://u:hidden@a.example/v2?p%61ss=hidden':
    'PRODUCTION_BASE_URL: it must be an http or https address that ends in /v1, not "https://u:***@a.example/v2?p%61ss=***" (from the environment)',
  'DATABASE_URL=sqlite:x?mode=ro': 'DATABASE_URL: it must be sqlite:FILE, without parameters (from the environment)',
  'DATABASE_URL=postgres://h/d?sslmod=require': `DATABASE_URL: ${POSTGRES}; sslmod has no effect, is sslmode meant? (from the environment)`,
  'DATABASE_URL=postgres://h/d?12345': `DATABASE_URL: ${POSTGRES}; what follows ? has no effect, remove it (from the environment)`,
  'DATABASE_URL=postgres://u@h': `DATABASE_URL: ${POSTGRES}, and its database is missing (from the environment)`,
  'REDIS_URL=redis://h/1?family=6\nINSTANCES=1': `REDIS_URL: ${REDIS.slice(0, -1)}; family has no effect, remove it (from the environment)`,
  'REDIS_URL=http://h\nINSTANCES=1': `REDIS_URL: ${REDIS} or rediss:// for TLS (from the environment)`,
  'REDIS_URL=redis://h/x\nINSTANCES=1': `REDIS_URL: ${REDIS} ${ESCAPED}`,
  'OPERATOR_IDENTITY_HEADER=X-User\nOPERATOR_IDENTITY_PROXIES=::1':
    'OPERATOR_IDENTITY_HEADER: it needs OPERATOR_IDENTITY_PROXIES, and OPERATOR_ROLES such as *=viewer',
  'OPERATOR_ROLE_HEADER=X-Groups':
    'OPERATOR_IDENTITY_HEADER: it must be set for the other settings of a sign-in to have an effect',
  'REDIS_URL_FILE=no-such': 'REDIS_URL_FILE: cannot read no-such',
};

test('a value beyond a bound, or one that goes with no other, is refused by name', () => {
  const refused = Object.entries(REFUSED).flatMap(([name, [wanted, ...values]]) =>
    values.map((value): [Record<string, string>, string] => [
      { [name]: value },
      `${name}: it must be ${wanted}, not "${value}" (from the environment)`,
    ]),
  );
  const together = Object.entries(TOGETHER).map(([text, message]) => [parseEnv(text), message] as const);
  for (const [env, message] of [...refused, ...together])
    assert.throws(
      () => configOf(env),
      ({ mistakes }: ConfigMistakes) => {
        assert.deepEqual(mistakes, [message]);
        return true;
      },
      message,
    );
});

test('flags come before the environment, that before `.env`, and in each a value before its file', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'level');
  writeFileSync(path, '\n debug \n');
  const [named, read] = [{ LOG_LEVEL: 'warn' }, { LOG_LEVEL_FILE: path }];
  const other = { LOG_LEVEL: 'error' };
  for (const [flags, env, file, level] of [
    [named, other, other, 'warn'],
    [{}, named, other, 'warn'],
    [{}, {}, named, 'warn'],
    [{}, { ...named, ...read }, {}, 'warn'],
    [{ LOG_LEVEL: '' }, { LOG_LEVEL: '' }, named, 'warn'],
    [read, named, named, 'debug'],
    [{}, read, named, 'debug'],
  ] as const)
    assert.equal(readConfig({ flags, env, file }).logLevel, level);
  const fromOf = (sources: object) => {
    try {
      readConfig({ flags: {}, env: {}, file: {}, ...sources });
    } catch (error) {
      return /\(from (.*)\)$/.exec((error as Error).message)?.[1];
    }
    return undefined;
  };
  const wrong = { SHUTDOWN_GRACE: 'x' };
  assert.deepEqual([{ flags: wrong }, { env: wrong }, { file: wrong }, { env: { PORT_FILE: path } }].map(fromOf), [
    '--shutdown-grace',
    'the environment',
    '.env',
    `the file ${path}`,
  ]);
});

test('a name in `.env` that is two letters off is told, but not three', () => {
  const file = { REDIS_URL_FILE: 'x', LOG_LEVAL: 'x', LOG_LEVASX: 'x', HOSTS: 'x' };
  assert.deepEqual(findIneffective({ flags: {}, env: { LOG_LEVAL: 'x' }, file }), [
    {
      finding: 'LOG_LEVAL is no setting; is LOG_LEVEL meant? (from .env)',
      advice: 'rename it to LOG_LEVEL, or remove it',
    },
    { finding: 'HOSTS is no setting; is HOST meant? (from .env)', advice: 'rename it to HOST, or remove it' },
  ]);
});

import { readFileSync } from 'node:fs';
import { ENVIRONMENTS } from './catalog/api-key.ts';
import { editDistance, nearest } from './catalog/nearest-name.ts';
import { addresses, hostNames, origins, readIdentity } from './setting-lists.ts';
import { DAY_SECONDS, parseDuration } from './stdx/duration.ts';
import { realPath } from './stdx/real-path.ts';
import { ACCESS_LOGS } from './telemetry/events.ts';

const INTERVAL_SECONDS_MAX = 366 * DAY_SECONDS;
const AUDIT_SECONDS_MAX = 100 * 366 * DAY_SECONDS;
const INSTANCES_MAX = 1_000;
/** The number of letters that a name in `.env` may be from a setting's to be taken for a slip of the pen. */
const SLIP_LETTERS_MAX = 2;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Every setting by its environment variable, with its default and description. */
export const SETTINGS = {
  HOST: { default: '127.0.0.1', about: 'address of the public listener' },
  PORT: { default: '8080', about: 'port of the public listener; 0 picks a free one' },
  OPERATOR_HOST: { default: '127.0.0.1', about: 'address of the operator listener' },
  OPERATOR_PORT: { default: '8081', about: 'port of the operator listener; if not set and PORT is 0, a free one' },
  OPERATOR_HOSTS: {
    default: '',
    about: 'names of the operator listener beside IP addresses and localhost, separated by commas; others are 421',
  },
  OPERATOR_IDENTITY_HEADER: { default: '', about: 'header in which a proxy names who signed in to the console' },
  OPERATOR_IDENTITY_PROXIES: { default: '', about: 'addresses and CIDRs of the proxies of OPERATOR_IDENTITY_HEADER' },
  OPERATOR_ROLE_HEADER: { default: '', about: 'header in which that proxy names groups, separated by commas' },
  OPERATOR_ROLES: { default: '', about: 'roles of these groups, such as admins=admin,support=keys,*=viewer' },
  ENVIRONMENT: {
    default: 'production',
    about: 'whose keys are accepted: production (petcat_live_…) or staging (petcat_test_…)',
  },
  DATABASE_URL: {
    default: 'sqlite:./data/pet-catalog.db',
    about: 'the database: sqlite:FILE or postgres://…',
  },
  REDIS_URL: {
    default: '',
    about: 'where instances count together, Redis or a node of its cluster: redis://… or rediss://…',
  },
  INSTANCES: { default: '', about: 'how many instances share the limits; required with REDIS_URL' },
  PRODUCTION_BASE_URL: { default: '', about: 'production address in the contract; this listener if empty' },
  STAGING_BASE_URL: {
    default: '',
    about: 'staging address in the contract; none if empty, or this listener in staging',
  },
  CATEGORIES_MAX: { default: '100000', about: 'maximum number of categories' },
  CATEGORIES_BYTES_MAX: { default: '67108864', about: 'maximum size of the list of all categories, in bytes' },
  BAN_AFTER_REFUSALS: { default: '60', about: 'minimum number of refusals for a ban; 0 disables bans' },
  BACKUP_DIR: { default: '', about: 'folder of the scheduled backups of an embedded database; none if empty' },
  BACKUP_EVERY: { default: '24h', about: 'time between backups' },
  BACKUP_KEEP: { default: '14', about: 'number of newest backups that stay' },
  AUDIT_KEPT: { default: '2y', about: 'time that the audit keeps changes by keys; others stay' },
  CONNECTIONS_MAX: { default: '4000', about: 'connections at once; beyond, an unread one or the new one is closed' },
  CORS_ORIGINS: { default: '', about: 'origins whose pages may use the API, separated by commas, or *; none if empty' },
  SECURITY_CONTACT: { default: '', about: 'where to report a vulnerability: mailto:, https: or an e-mail address' },
  LOG_LEVEL: { default: 'info', about: LOG_LEVELS.join(', ') },
  TRUSTED_PROXIES: {
    default: '',
    about: 'addresses and CIDRs of proxies; the access log has the address before them',
  },
  ACCESS_LOG: {
    default: 'errors',
    about: 'answers with a line in the log beside the errors of 500 and above: all, errors (slow ones) or none',
  },
  SHUTDOWN_GRACE: { default: '8s', about: 'how long a stop may take in all, requests in flight included' },
} as const;

export type SettingName = keyof typeof SETTINGS;

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Every name that settings are read from: each itself, and the file that it may be in. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set(SETTING_NAMES.flatMap((name) => [name, `${name}_FILE`]));

/** The parameters of a PostgreSQL address that the driver knows. */
const POSTGRES_PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
  'host',
  'port',
  'user',
  'password',
  'application_name',
  'client_encoding',
  'options',
];

/** Settings that hold a password. A malformed one is never quoted: any part of it may be the password. */
const SECRETS: ReadonlySet<string> = new Set<SettingName>(['DATABASE_URL', 'REDIS_URL']);

export type DatabaseAddress =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string };

/** The settings as `parseConfig` reads them; undefined stands for what is not set. */
export type Config = Readonly<ReturnType<typeof parseConfig>>;

/** The sources of settings, in order of precedence. All are keyed by environment variable. */
export interface ConfigSources {
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: Readonly<Record<string, string | undefined>>;
}

/** A setting's value and source, before validation. */
export interface FoundSetting {
  readonly name: SettingName;
  readonly value: string;
  readonly from: string;
}

/** All mistakes in the settings, one line each. */
export class ConfigMistakes extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

/**
 * Parses and validates the settings. Throws `ConfigMistakes` with all mistakes at once. `forService`: as `serve` judges
 * them; other commands may be given the address of a PostgreSQL beside the settings of a service that has none.
 */
export function readConfig(sources: ConfigSources, { forService = false } = {}): Config {
  const mistakes: string[] = [];
  const config = parseConfig(sources, mistakes);
  if (forService && config.backups && config.database?.engine === 'postgres')
    mistakes.push('BACKUP_DIR: it must be empty with PostgreSQL, which has its own tools for backups');
  const { host, port, operatorHost, operatorPort } = config;
  const isSameHost = [operatorHost, '::'].includes(host) || (host === '0.0.0.0' && !/:/.test(operatorHost));
  if (port > 0 && port === operatorPort && isSameHost)
    mistakes.push(`OPERATOR_PORT: it must be another port than PORT, not ${port} too`);
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  return Object.freeze(config);
}

function parseConfig(sources: ConfigSources, mistakes: string[]) {
  const found = new Map(findSettings(sources, mistakes).map((setting) => [setting.name, setting]));
  const read = <T>(name: SettingName, parse: (text: string) => T): T => {
    const { value = '', from = '' } = found.get(name) ?? {};
    try {
      return parse(value);
    } catch (error) {
      const shown = SECRETS.has(name) ? '' : `, not "${withoutPassword(value)}"`;
      mistakes.push(`${name}: ${(error as Error).message}${shown} (from ${from})`);
      return undefined as T;
    }
  };

  return {
    host: read('HOST', nonEmpty),
    port: read('PORT', wholeNumber(0, 65_535)),
    operatorHost: read('OPERATOR_HOST', nonEmpty),
    operatorPort: read('OPERATOR_PORT', wholeNumber(0, 65_535)),
    operatorHosts: read('OPERATOR_HOSTS', hostNames),
    identity: readIdentity(read, mistakes),
    environment: read('ENVIRONMENT', oneOf(ENVIRONMENTS)),
    database: read('DATABASE_URL', databaseUrl),
    redis: together(
      read('REDIS_URL', optional(redisUrl)),
      read('INSTANCES', optional(wholeNumber(1, INSTANCES_MAX))),
      mistakes,
    ),
    baseUrls: {
      production: read('PRODUCTION_BASE_URL', optional(baseUrl)),
      staging: read('STAGING_BASE_URL', optional(baseUrl)),
    },
    categoriesMax: read('CATEGORIES_MAX', wholeNumber(1, 1_000_000)),
    categoriesBytesMax: read('CATEGORIES_BYTES_MAX', wholeNumber(1_024, 1_073_741_824)),
    banAfterRefusals: read('BAN_AFTER_REFUSALS', wholeNumber(0, 1_000_000_000)),
    backups: backups(read('BACKUP_DIR', String), {
      everySeconds: read('BACKUP_EVERY', duration('such as 10m, 6h or 24h', { min: 1, max: INTERVAL_SECONDS_MAX })),
      keep: read('BACKUP_KEEP', wholeNumber(1, 10_000)),
    }),
    auditKeptSeconds: read('AUDIT_KEPT', duration('such as 90d or 2y', { min: DAY_SECONDS, max: AUDIT_SECONDS_MAX })),
    connectionsMax: read('CONNECTIONS_MAX', wholeNumber(1, 1_000_000)),
    corsOrigins: read('CORS_ORIGINS', origins),
    securityContact: read('SECURITY_CONTACT', optional(contact)),
    logLevel: read('LOG_LEVEL', oneOf(LOG_LEVELS)),
    accessLog: read('ACCESS_LOG', oneOf(ACCESS_LOGS)),
    trustedProxies: read('TRUSTED_PROXIES', addresses),
    shutdownGraceMs:
      read('SHUTDOWN_GRACE', duration('of at most a day, such as 10s, 5m or 1h', { min: 0, max: DAY_SECONDS })) * 1000,
  };
}

/**
 * Lists every setting with its source and its effective value, of which secrets are masked. Throws `ConfigMistakes` if
 * a file cannot be read.
 */
export function findConfig(sources: ConfigSources): FoundSetting[] {
  const mistakes: string[] = [];
  const found = findSettings(sources, mistakes);
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  return found.map((setting) => ({ ...setting, value: withoutPassword(setting.value) }));
}

function findSettings(sources: ConfigSources, mistakes: string[]): FoundSetting[] {
  const settings = SETTING_NAMES.map((name) => ({
    name,
    ...(findValue(name, sources, mistakes) ?? { value: SETTINGS[name].default, from: 'default' }),
  }));
  const port = settings.find(({ name }) => name === 'PORT');
  return settings.map((setting) =>
    setting.name === 'OPERATOR_PORT' && setting.from === 'default' && port?.value === '0'
      ? { ...setting, value: '0' }
      : setting,
  );
}

/**
 * Finds a value by its name, or in the file that `NAME_FILE` names, in the first source that has either. Undefined if
 * none has, or if the file cannot be read, which becomes a mistake.
 */
export function findValue(
  name: string,
  { flags, env, file }: ConfigSources,
  mistakes: string[],
): { value: string; from: string } | undefined {
  const flag = `--${name.toLowerCase().replaceAll('_', '-')}`;
  for (const [values, from] of [[flags, flag] as const, [env, 'the environment'] as const, [file, '.env'] as const]) {
    const value = values[name];
    if (present(value)) return { value, from };
    const path = values[`${name}_FILE`];
    if (!present(path)) continue;
    try {
      return { value: readFileSync(path, 'utf8').trim(), from: `the file ${path}` };
    } catch {
      mistakes.push(`${name}_FILE: cannot read ${path}`);
      return undefined;
    }
  }
  return undefined;
}

/** Lists the names in `.env` that are nearly those of settings, each in a sentence, with what `doctor` advises. */
export function findIneffective({ file }: ConfigSources): { finding: string; advice: string }[] {
  return Object.keys(file).flatMap((name) => {
    const meant = KNOWN_NAMES.has(name) ? undefined : nearest(name, [...KNOWN_NAMES]);
    if (meant === undefined || editDistance(name.toUpperCase(), meant) > SLIP_LETTERS_MAX) return [];
    const finding = `${name} is no setting; is ${meant} meant? (from .env)`;
    return [{ finding, advice: `rename it to ${meant}, or remove it` }];
  });
}

/**
 * Masks the secrets in a URL, so that it may be shown: the password, a user name without a password (it may be a
 * token), and parameters whose name mentions a password or is escaped.
 */
export function withoutPassword(value: string): string {
  return value
    .replace(/(:\/\/)([^:@/?#]*:)?[^/?#]*@/, '$1$2***@')
    .replace(/([?&][^=&]*(?:pass|%)[^=&]*=)[^&]*/gi, '$1***');
}

function present(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/** Reads an empty text as undefined. */
function optional<T>(parse: (text: string) => T): (text: string) => T | undefined {
  return (text) => (text === '' ? undefined : parse(text));
}

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new Error('it must be an address');
  return text;
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= min && number <= max)) throw new Error(`it must be a whole number from ${min} to ${max}`);
    return number;
  };
}

function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((value) => value === text);
    if (found === undefined) throw new Error(`it must be one of ${allowed.join(', ')}`);
    return found;
  };
}

function duration(about: string, { min, max }: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const seconds = parseDuration(text) ?? Number.NaN;
    if (!(seconds >= min && seconds <= max)) throw new Error(`it must be a duration ${about}`);
    return seconds;
  };
}

function backups(folder: string, schedule: { everySeconds: number; keep: number }) {
  return folder === '' ? undefined : { folder, ...schedule };
}

/** Parses the address of a database. Throws an Error that says what it must be. */
export function databaseUrl(text: string): DatabaseAddress {
  // With two slashes, and not three, what follows would be a host.
  const file = /^sqlite:(?:\/\/(?=\/)|(?!\/\/))(.+)$/.exec(text)?.[1];
  // A password would be a part of the file's name, which is shown.
  if (file !== undefined && /\?[^/]*=/.test(file)) throw new Error('it must be sqlite:FILE, without parameters');
  // The real path, once: lock, log and notes of a database are beside its file, by whatever link it is called.
  if (file !== undefined) return { engine: 'sqlite', file: file === ':memory:' ? file : realPath(file) };
  const form = 'postgres://USER:PASSWORD@HOST/DATABASE';
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error(`it must be sqlite:FILE or ${form}`);
  const { pathname } = parseAddress(text, form, POSTGRES_PARAMETERS);
  // The driver would take the database that is named like the user.
  if (pathname.length <= 1) throw new Error(`it must be ${form}, and its database is missing`);
  return { engine: 'postgres', url: text };
}

function redisUrl(text: string): string {
  const form = 'redis://:PASSWORD@HOST:PORT/NUMBER';
  if (!/^rediss?:\/\//.test(text)) throw new Error(`it must be ${form}, or rediss:// for TLS`);
  const { username, password, pathname } = parseAddress(text, form, []);
  if (!isDecodable(username + password) || !/^\/?\d*$/.test(pathname)) throw malformedAddress(form);
  return text;
}

/**
 * Parses the URL of a server, in which no part of a password may have become host or path. A parameter that would have
 * no effect is refused: with a mistyped `sslmode` the connection would be in clear text.
 */
function parseAddress(text: string, form: string, parameters: readonly string[]): URL {
  const url = URL.parse(text);
  if (!url || `${url.pathname}${url.search}${url.hash}`.includes('@')) throw malformedAddress(form);
  for (const name of url.searchParams.keys()) {
    if (parameters.includes(name)) continue;
    const near = nearest(name, parameters);
    // Without a value it may be a part of a password.
    const shown = text.includes(`${name}=`) ? name : 'what follows ?';
    throw new Error(`it must be ${form}; ${shown} has no effect, ${near ? `is ${near} meant?` : 'remove it'}`);
  }
  return url;
}

function malformedAddress(form: string): Error {
  return new Error(`it must be ${form}, with @ / ? # and % in a password written %40 %2F %3F %23 and %25`);
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

function together(url: string | undefined, count: number | undefined, mistakes: string[]) {
  if (url !== undefined && count !== undefined) return { url, instances: count };
  if (url !== undefined) mistakes.push('INSTANCES: it must say how many instances there are when REDIS_URL is set');
  else if (count !== undefined && count > 1)
    mistakes.push('REDIS_URL: it must be set for several INSTANCES to count together');
  return undefined;
}

function contact(text: string): string {
  const uri = /^[^\s@:/]+@[^\s@:/]+\.[^\s@:/]+$/.test(text) ? `mailto:${text}` : text;
  const { protocol, pathname } = URL.parse(uri) ?? {};
  const isContact = protocol === 'https:' || (protocol === 'mailto:' && /^[^@]+@[^@]+$/.test(pathname ?? ''));
  if (!isContact || /\s/.test(uri)) throw new Error('it must be an e-mail address, or a mailto: or https: address');
  return uri;
}

function baseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\/[^?#]+\/v1\/?$/i.test(text) || /V1\/?$/.test(text)) {
    throw new Error('it must be an http or https address that ends in /v1');
  }
  return text.replace(/\/$/, '');
}

/** As much of an OpenAPI document as compatibility depends on. */
export interface Contract {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: Record<string, Record<string, unknown>>;
}

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly 'x-stability'?: 'beta' | 'experimental';
  readonly 'x-deprecated-sunset'?: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Record<string, { readonly headers?: Record<string, unknown>; readonly content?: Content }>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Record<string, { readonly schema: Schema }>;

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly [keyword: string]: unknown;
}

/** Which way a value goes: callers send requests, and must cope with responses. */
type Direction = 'request' | 'response';

const RANKS = { stable: 2, beta: 1, experimental: 0 } as const;
const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'] as const;
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'] as const;

/**
 * Everything in a contract that breaks clients written for an earlier one, a sentence for each. Experimental
 * operations may change; a deprecated one may go once its sunset (compared with `today`, YYYY-MM-DD) has come.
 */
export function breakingChanges(before: Contract, after: Contract, today: string): string[] {
  return Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, old]) => {
      if (old['x-stability'] === 'experimental') return [];
      const now = after.paths[path]?.[method];
      if (now) return compareOperations(old, now, { before, after, name: old.operationId });
      const sunset = old['x-deprecated-sunset'];
      return sunset !== undefined && sunset <= today ? [] : [`${old.operationId} is gone`];
    }),
  );
}

interface Comparison {
  readonly before: Contract;
  readonly after: Contract;
  /** What is compared, for the message. */
  readonly name: string;
}

function compareOperations(old: Operation, now: Operation, at: Comparison): string[] {
  const found: string[] = [];
  if (old.operationId !== now.operationId) found.push(`${at.name} is now called ${now.operationId}`);
  if (RANKS[now['x-stability'] ?? 'stable'] < RANKS[old['x-stability'] ?? 'stable']) {
    found.push(`${at.name} is less stable than it was`);
  }
  if (now.deprecated && !now['x-deprecated-sunset']) found.push(`${at.name} is deprecated without a sunset`);
  const [was, is] = [old['x-deprecated-sunset'], now['x-deprecated-sunset']];
  if (was && is && is < was) found.push(`${at.name} ends earlier than was announced`);
  if (!scopesOf(now).every((scope) => scopesOf(old).includes(scope))) found.push(`${at.name} needs another scope`);
  return [...found, ...compareRequests(old, now, at), ...compareResponses(old, now, at)];
}

function scopesOf({ security = [] }: Operation): string[] {
  return security.flatMap((scheme) => Object.values(scheme).flat());
}

function compareRequests(old: Operation, now: Operation, at: Comparison): string[] {
  const same = (one: Parameter) => (other: Parameter) => one.name === other.name && one.in === other.in;
  const known = (old.parameters ?? []).flatMap((parameter) => {
    const name = `${at.name}: parameter ${parameter.name}`;
    const present = now.parameters?.find(same(parameter));
    if (!present) return [`${name} is gone`];
    const required = present.required && !parameter.required ? [`${name} is required now`] : [];
    return [...required, ...compareSchemas(parameter.schema, present.schema, 'request', { ...at, name })];
  });
  const added = (now.parameters ?? [])
    .filter((parameter) => parameter.required && !old.parameters?.some(same(parameter)))
    .map((parameter) => `${at.name}: parameter ${parameter.name} is new and required`);
  const name = `${at.name}: body`;
  if (!old.requestBody)
    return [...known, ...added, ...(now.requestBody?.required ? [`${name} is new and required`] : [])];
  if (!now.requestBody) return [...known, ...added, `${name} is gone`];
  return [
    ...known,
    ...added,
    ...compareContent(old.requestBody.content, now.requestBody.content, 'request', { ...at, name }),
  ];
}

function compareResponses(old: Operation, now: Operation, at: Comparison): string[] {
  const successes = Object.keys(now.responses).filter((status) => /^[23]/.test(status) && !old.responses[status]);
  const kept = Object.entries(old.responses).flatMap(([status, response]) => {
    const name = `${at.name}: ${status}`;
    const present = now.responses[status];
    if (!present) return [`${name} is gone`];
    const lost = Object.keys(response.headers ?? {}).filter((header) => !present.headers?.[header]);
    return [
      ...lost.map((header) => `${name} lost the header ${header}`),
      ...compareContent(response.content, present.content, 'response', { ...at, name }),
    ];
  });
  return [...kept, ...successes.map((status) => `${at.name} can succeed with ${status} now`)];
}

function compareContent(old: Content = {}, now: Content = {}, direction: Direction, at: Comparison): string[] {
  return Object.entries(old).flatMap(([mediaType, { schema }]) => {
    const present = now[mediaType];
    return present ? compareSchemas(schema, present.schema, direction, at) : [`${at.name} is no longer ${mediaType}`];
  });
}

function compareSchemas(oldOrRef: Schema, nowOrRef: Schema, direction: Direction, at: Comparison): string[] {
  const [old, now] = [resolve(oldOrRef, at.before), resolve(nowOrRef, at.after)];
  const found: string[] = [];
  if (old.type !== now.type) found.push(`${at.name} is of type ${now.type} instead of ${old.type}`);
  if (old.format !== now.format) found.push(`${at.name} has the format ${now.format} instead of ${old.format}`);
  found.push(...compareEnums(old, now, direction, at));
  if (direction === 'request') found.push(...tightened(old, now, at));
  found.push(...compareMembers(old, now, direction, at));
  if (old.items && now.items) {
    found.push(...compareSchemas(old.items, now.items, direction, { ...at, name: `${at.name}[]` }));
  }
  if (old.anyOf?.length !== now.anyOf?.length) return [...found, `${at.name} has other alternatives`];
  const alternatives = (old.anyOf ?? []).flatMap((each, index) =>
    compareSchemas(each, now.anyOf?.[index] ?? {}, direction, at),
  );
  return [...found, ...alternatives];
}

function compareEnums(old: Schema, now: Schema, direction: Direction, { name }: Comparison): string[] {
  const missing = (values: Schema['enum'], from: Schema) =>
    (values ?? []).filter((value) => !from.enum?.includes(value));
  if (direction === 'request') {
    if (!now.enum) return [];
    if (!old.enum) return [`${name} admits certain values only`];
    return missing(old.enum, now).map((value) => `${name} no longer admits ${value}`);
  }
  if (!old.enum) return [];
  if (!now.enum) return [`${name} can be anything now`];
  return missing(now.enum, old).map((value) => `${name} can be ${value} now`);
}

function tightened(old: Schema, now: Schema, { name }: Comparison): string[] {
  const lower = LOWER_BOUNDS.filter((bound) => Number(now[bound] ?? -Infinity) > Number(old[bound] ?? -Infinity));
  const upper = UPPER_BOUNDS.filter((bound) => Number(now[bound] ?? Infinity) < Number(old[bound] ?? Infinity));
  const found = [...lower, ...upper].map((bound) => `${name} has a narrower ${bound}: ${now[bound]}`);
  if (now.pattern !== undefined && spelled(now.pattern) !== spelled(old.pattern))
    found.push(`${name} has another pattern`);
  if (now.additionalProperties === false && old.additionalProperties !== false)
    found.push(`${name} refuses unknown members`);
  return found;
}

/** A pattern with its characters instead of their escapes. */
function spelled(pattern: unknown): string {
  return `${pattern}`.replaceAll(/\\u([0-9A-F]{4})|\\x([0-9A-F]{2})/gi, (_, ...hex) =>
    String.fromCharCode(Number.parseInt(hex[0] ?? hex[1], 16)),
  );
}

function compareMembers(old: Schema, now: Schema, direction: Direction, at: Comparison): string[] {
  const kept = Object.entries(old.properties ?? {}).flatMap(([member, schema]) => {
    const name = `${at.name}.${member}`;
    const present = now.properties?.[member];
    return present ? compareSchemas(schema, present, direction, { ...at, name }) : [`${name} is gone`];
  });
  const [from, to] = direction === 'request' ? [old, now] : [now, old];
  const verdict = direction === 'request' ? 'is required now' : 'is no longer always there';
  const changed = (to.required ?? []).filter((member) => !from.required?.includes(member));
  const stillThere = changed.filter((member) => direction === 'request' || now.properties?.[member]);
  return [...kept, ...stillThere.map((member) => `${at.name}.${member} ${verdict}`)];
}

function resolve(schema: Schema, { components }: Contract): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : ((components.schemas?.[name] ?? {}) as Schema);
}

import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { invalid } from './error.ts';
import { nearest } from './nearest-name.ts';

const QUOTED_CHARACTERS_MAX = 40;
/** A body that is as large as may be holds thousands; comparing them all would keep other requests waiting. */
const COMPARED_MEMBERS_MAX = 20;

type Bound = 'minLength' | 'maxLength' | 'minItems' | 'maxItems' | 'minimum' | 'maximum';

/** The part of JSON Schema that is read here, and not by ajv alone. */
export interface Schema extends Readonly<Partial<Record<Bound, number>>> {
  readonly title?: string | undefined;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  /** Advice on what to send instead, by a pattern of what is wrong. */
  readonly 'x-violation'?: Readonly<Record<string, string>>;
}

/** The schema of an object that the contract names. */
export function objectOf<const Shape extends object>(title: string, description: string, shape: Shape) {
  return { title, type: 'object', ...shape, description } as const;
}

let ajv: Ajv2020 | undefined;
let ajvOfAll: Ajv2020 | undefined;

/**
 * Makes a check from a schema. The check returns the value as the schema's type, or throws `validation_failed` naming
 * the first wrong member. Lengths count code points, as JSON Schema defines them (Validation, section 6.3). The
 * validator is loaded and compiled on first use, because it would be a sixth of the startup time.
 */
export function validator<S extends TSchema>(schema: S): (value: unknown) => Static<S> {
  let check: ValidateFunction<Static<S>> | undefined;
  return (value) => {
    ajv ??= loadAjv();
    check ??= ajv.compile<Static<S>>(schema);
    if (check(value)) return value;
    const [error] = check.errors ?? [];
    throw invalid(error ? explain(error) : 'The body does not match its schema');
  };
}

/** Makes a check that finds every wrong member of a small body, and says what is wrong with each. */
export function validatorOfAll(schema: TSchema): (value: unknown) => Map<string, string> {
  let check: ValidateFunction | undefined;
  return (value) => {
    ajvOfAll ??= loadAjv({ allErrors: true });
    check ??= ajvOfAll.compile(schema);
    const mistakes = new Map<string, string>();
    if (check(value)) return mistakes;
    for (const error of check.errors ?? []) {
      const [member = ''] = (error.params.missingProperty ?? error.instancePath.slice(1)).split('/');
      if (!mistakes.has(member)) mistakes.set(member, explain(error));
    }
    return mistakes;
  };
}

function loadAjv(options: { allErrors?: boolean } = {}): Ajv2020 {
  // `require`, because `import` is asynchronous and a check is not.
  const require = createRequire(import.meta.url);
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  // The tests validate the schemas, which are our own.
  const loaded = new Ajv2020({
    ...options,
    strict: true,
    verbose: true,
    validateFormats: false,
    validateSchema: false,
  });
  loaded.addKeyword('example');
  loaded.addKeyword('x-violation');
  loaded.addKeyword({
    keyword: 'x-well-formed',
    type: 'string',
    schemaType: 'boolean',
    validate: (wanted: boolean, text: string) => !wanted || text.isWellFormed(),
  });
  return loaded;
}

function explain(error: ErrorObject): string {
  const field = error.instancePath.slice(1).replaceAll('/', '.');
  const subject = field || 'The body';
  const found = quote(error.data);
  const schema = error.parentSchema as Schema;
  switch (error.keyword) {
    case 'required':
      return missingMember(error, field);
    case 'additionalProperties':
      return unknownMember(error, field);
    case 'type':
    case 'minimum':
    case 'maximum':
    case 'enum':
      return `${subject} is ${found}; send ${wanted(schema, `${error.params.type}`)}`;
    case 'minLength':
      return `${subject} is empty; send ${wanted(schema, 'string')}`;
    case 'maxLength':
      return `${subject} is ${[...(error.data as string)].length} characters long (${found}); send ${wanted(schema, 'string')}`;
    case 'minItems':
    case 'maxItems':
      return `${subject} has ${inWords((error.data as unknown[]).length)} items; send ${error.keyword === 'minItems' ? 'at least' : 'at most'} ${inWords(error.params.limit)}`;
    case 'x-well-formed':
      return `${subject} (${found}) holds half of a surrogate pair; send whole Unicode characters`;
    case 'pattern':
      return `${subject} is ${found}; ${violated(error)}`;
    default:
      return `${subject} is ${found}; it ${error.message}`;
  }
}

function missingMember({ data, parentSchema }: ErrorObject, field: string): string {
  const { required = [], properties = {} } = parentSchema as Schema;
  const missing = required.filter((name) => (data as Record<string, unknown>)[name] === undefined);
  const names = missing
    .map((name) => (field ? `${field}.${name}` : name))
    .join(', ')
    .replace(/, ([^,]+)$/, ' and $1');
  const [verb, them] = missing.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const advice = mistyped(data as object, Object.keys(properties), missing) ?? `add ${them} to the body`;
  return `${names} ${verb} missing; ${advice}`;
}

/** Asks about the first unknown member of a body that is near one of those meant; undefined if none is. */
export function mistyped(body: object, known: readonly string[], meant = known): string | undefined {
  for (const name of Object.keys(body).slice(0, COMPARED_MEMBERS_MAX)) {
    const near = known.includes(name) ? undefined : nearest(name, meant);
    if (near !== undefined) return `${quote(name)} is no member of the body, did you mean ${near}?`;
  }
  return undefined;
}

function unknownMember({ params, parentSchema }: ErrorObject, field: string): string {
  const name = String(params.additionalProperty);
  const known = Object.keys(parentSchema?.properties ?? {});
  const meant = nearest(name, known);
  const advice = meant === undefined ? `it has ${known.join(', ')}` : `did you mean ${meant}?`;
  return `${quote(name)} is no member of ${field || 'the body'}; ${advice}`;
}

/** The values that a schema admits, in words; the same for every rule of it that may be broken. */
function wanted(schema: Schema, type: string): string {
  const { enum: values, minimum, maximum, minLength = 0, maxLength, example } = schema;
  if (values) return `one of ${values.join(', ')}`;
  if (minimum !== undefined) return wholeNumber(minimum, maximum);
  if (maxLength !== undefined) return `a string of ${minLength} to ${inWords(maxLength)} characters`;
  if (type === 'string' && example) return `a string such as ${example}`;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** A whole number within bounds, in words; the largest exact integer goes without saying. */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER): string {
  const upTo = maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${inWords(maximum)}`;
  return `a whole number from ${inWords(minimum)}${upTo}`;
}

/** A whole number with commas between thousands; not by `toLocaleString`, which takes 20 ms of a start. */
export function inWords(count: number): string {
  let thousands = '';
  let rest = count;
  for (; rest >= 1_000; rest = Math.floor(rest / 1_000)) {
    thousands = `,${String(rest % 1_000).padStart(3, '0')}${thousands}`;
  }
  return `${rest}${thousands}`;
}

/** Advice on what to send instead, by the one rule of a pattern that the text breaks. */
function violated({ data, params, parentSchema }: ErrorObject): string {
  const rules: Readonly<Record<string, string>> = parentSchema?.['x-violation'] ?? {};
  const broken = Object.keys(rules).find((breaking) => new RegExp(breaking, 'u').test(String(data)));
  return broken === undefined ? `it must match ${params.pattern}` : (rules[broken] ?? '');
}

/** Quotes a value as JSON, shortened so that a message does not repeat long input. */
export function quote(value: unknown): string {
  if (value !== null && typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  const short = shortened(String(value));
  return typeof value === 'string' ? JSON.stringify(short.toWellFormed()) : short;
}

/** A text as it is, shortened so that a message does not repeat long input. */
export function shortened(text: string): string {
  return text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text;
}

import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { CatalogError } from './error.ts';

const QUOTED_CHARACTERS_MAX = 40;

let ajv: Ajv2020 | undefined;

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
    throw new CatalogError('validation_failed', error ? explain(error) : 'The body does not match its schema');
  };
}

function loadAjv(): Ajv2020 {
  // `require`, because `import` is asynchronous and a check is not.
  const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  // The tests validate the schemas, which are our own.
  const loaded = new Ajv2020({ strict: true, verbose: true, validateFormats: false, validateSchema: false });
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
  const { limit } = error.params as { limit?: number };
  switch (error.keyword) {
    case 'required':
      return `${field ? `${field}.` : ''}${error.params.missingProperty} is missing; add it to the body`;
    case 'type':
      return `${subject} is ${found}; send ${article(String(error.params.type))}`;
    case 'minLength':
      return `${subject} is empty; send at least ${limit} character${limit === 1 ? '' : 's'}`;
    case 'maxLength':
      return `${subject} is ${[...(error.data as string)].length} characters long (${found}); send at most ${limit}`;
    case 'minimum':
    case 'maximum':
      return `${subject} is ${found}; send a number ${error.params.comparison} ${limit}`;
    case 'enum':
      return `${subject} is ${found}; send one of ${error.params.allowedValues.join(', ')}`;
    case 'x-well-formed':
      return `${subject} (${found}) holds half of a surrogate pair; send whole Unicode characters`;
    case 'pattern':
      return `${subject} is ${found}; ${error.parentSchema?.['x-violation'] ?? `it must match ${error.params.pattern}`}`;
    default:
      return `${subject} is ${found}; it ${error.message}`;
  }
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** Quotes a value as JSON, shortened so that a message does not repeat long input. */
export function quote(value: unknown): string {
  if (value !== null && typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  const text = typeof value === 'string' ? value.slice(0, QUOTED_CHARACTERS_MAX + 1) : String(value);
  const short = text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text;
  return typeof value === 'string' ? JSON.stringify(short.toWellFormed()) : short;
}

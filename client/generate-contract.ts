import { readFileSync, writeFileSync } from 'node:fs';

/** Writes src/contract.ts out of openapi.json. A test compares the two. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

/** What the generator reads of an OpenAPI document. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const LINE_WIDTH = 120;

/** Descriptions for users of the client, where those of the contract speak of HTTP. */
const WORDS: Readonly<Record<string, string>> = {
  ids: 'Only pets with one of these ids, at most 100, on one page unless there is a `limit`; `[]` gives `[]`',
  cursor: 'The `next` of the previous page',
};

/** The closed sets: the name of each, its description, and where the contract has it. */
const CLOSED_SETS = {
  PetStatus: ['How a pet stands in the store.', 'Pet', 'status'],
  Plan: ['The plans of API keys.', 'RateLimit', 'plan'],
  ErrorCode: ['Every code that an error of the service can have. The set is closed.', 'Error', 'code'],
} as const;

/** The TypeScript of the contract: its schemas, the queries of its operations, their names, and the closed sets. */
export function contractSource({ paths, components: { schemas } }: OpenApi): string {
  const types = new TypeWriter(schemas);
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const sent = new Set(
    operations.map(({ requestBody }) => nameOf(requestBody?.content['application/json'].schema.$ref)),
  );
  const parts = [
    `// Written by \`npm run contract -w client\` out of openapi.json. Do not edit.`,
    ...Object.entries(schemas)
      .filter(([name]) => name !== 'Error')
      .map(([name, schema]) => types.interfaceSource(name, schema, sent.has(name))),
    ...operations.flatMap((operation) => types.querySource(operation)),
    doc('The operations of the contract.') +
      union(
        'Operation',
        operations.map(({ operationId }) => operationId),
      ),
    ...types.closedSets(),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Writes the types of schemas, which may refer to each other and to the closed sets. */
class TypeWriter {
  readonly #schemas: OpenApi['components']['schemas'];
  /** The names of the closed sets, by their members. */
  readonly #sets = new Map<string, string>();

  constructor(schemas: OpenApi['components']['schemas']) {
    this.#schemas = schemas;
    for (const name of Object.keys(CLOSED_SETS)) this.#sets.set(this.#membersOf(name).join(), name);
  }

  closedSets(): string[] {
    return Object.entries(CLOSED_SETS).map(
      ([name, [description]]) => doc(description) + union(name, this.#membersOf(name)),
    );
  }

  /** A member that is sent may be undefined, which leaves it out; one that is received is present or absent. */
  interfaceSource(name: string, { description, properties = {}, required = [] }: Schema, isSent: boolean): string {
    const members = Object.entries(properties).map(([member, schema]) => {
      const isRequired = required.includes(member);
      const type = this.#typeOf(schema) + (isSent && !isRequired ? ' | undefined' : '');
      const described = WORDS[member] ?? schema.description ?? this.#schemas[nameOf(schema.$ref) ?? '']?.description;
      if (!described) throw new Error(`${name}.${member} has no description`);
      return `${doc(described + (isSent ? boundsOf(schema, described) : ''), '  ')}  readonly ${member}${isRequired ? '' : '?'}: ${type};\n`;
    });
    return `${doc(description)}export interface ${name} {\n${members.join('')}}`;
  }

  querySource({ operationId, parameters = [] }: Operation): string[] {
    const query = parameters.filter((parameter) => parameter.in === 'query');
    if (query.length === 0) return [];
    const properties = Object.fromEntries(
      query.map(({ name, description, schema }) => [
        name,
        { ...schema, description: description ?? schema.description },
      ]),
    ) as Record<string, Schema>;
    const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
    return [this.interfaceSource(name, { description: `The query of ${operationId}.`, properties }, true)];
  }

  #membersOf(name: string): readonly string[] {
    const [, schema = '', property = ''] = CLOSED_SETS[name as keyof typeof CLOSED_SETS] ?? [];
    const members = this.#schemas[schema]?.properties?.[property]?.enum;
    if (!members) throw new Error(`${schema}.${property} is no closed set`);
    return members;
  }

  #typeOf(schema: Schema): string {
    if (schema.$ref) return nameOf(schema.$ref) ?? 'never';
    if (schema.enum) {
      const name = this.#sets.get(schema.enum.join());
      if (!name) throw new Error(`give a name in CLOSED_SETS to ${schema.enum}`);
      return name;
    }
    if (schema.anyOf) return schema.anyOf.map((each) => this.#typeOf(each)).join(' | ');
    if (schema.type === 'integer' || schema.type === 'number') return 'number';
    if (schema.type === 'array' && schema.items) return `readonly ${this.#typeOf(schema.items)}[]`;
    if (schema.type === 'string' || schema.type === 'boolean' || schema.type === 'null') return schema.type;
    throw new Error(`the generator does not know the schema ${JSON.stringify(schema)}`);
  }
}

/** The bounds and the default of a value that is sent, unless its description already names them. */
function boundsOf(schema: Schema, described: string): string {
  const { type, format, minimum, maximum, minLength = 0, maxLength, default: preset } = schema;
  const parts: string[] = [];
  if (maxLength !== undefined)
    parts.push(`${minLength > 0 ? `${minLength}` : 'up'} to ${inWords(maxLength)} characters`);
  const isId = maximum === Number.MAX_SAFE_INTEGER;
  if (type === 'integer' && isId) parts.push('whole, from 1');
  if (type === 'integer' && !isId && maximum !== undefined) parts.push(`whole, ${minimum} to ${inWords(maximum)}`);
  if (format === 'date-time') parts.push('RFC 3339, ending in `Z`');
  if (preset !== undefined) parts.push(`default ${preset}`);
  return parts
    .filter((part) => !described.includes(part.replace('whole, ', '')))
    .map((part) => `; ${part}`)
    .join('');
}

function inWords(count: number): string {
  return count.toLocaleString('en-US');
}

function union(name: string, members: readonly string[]): string {
  const line = `export type ${name} = ${members.map(quoted).join(' | ')};`;
  if (line.length <= LINE_WIDTH) return line;
  return `export type ${name} =\n${members.map((member) => `  | ${quoted(member)}`).join('\n')};`;
}

function nameOf(ref: string | undefined): string | undefined {
  return ref?.replace('#/components/schemas/', '');
}

function quoted(text: string): string {
  return `'${text}'`;
}

function doc(text: string | undefined, indent = ''): string {
  return text === undefined ? '' : `${indent}/** ${text} */\n`;
}

if (import.meta.main) {
  const openapi = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
  writeFileSync(new URL('src/contract.ts', import.meta.url), contractSource(openapi));
}

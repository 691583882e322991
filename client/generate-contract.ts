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

if (import.meta.main) {
  const openapi = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
  writeFileSync(new URL('src/contract.ts', import.meta.url), contractSource(openapi));
}

/** The TypeScript of the contract: its schemas, the queries of its operations, their names, and the error codes. */
export function contractSource({ paths, components: { schemas } }: OpenApi): string {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const sent = new Set(
    operations.map(({ requestBody }) => nameOf(requestBody?.content['application/json'].schema.$ref)),
  );
  const parts = [
    `// Written by \`npm run contract -w client\` out of openapi.json. Do not edit.`,
    ...Object.entries(schemas)
      .filter(([name]) => name !== 'Error')
      .map(([name, schema]) => interfaceSource(name, schema, sent.has(name))),
    ...operations.flatMap(querySource),
    doc('The operations of the contract.') +
      union(
        'Operation',
        operations.map(({ operationId }) => operationId),
      ),
    doc('Every code that an error of the service can have. The set is closed.') +
      union('ErrorCode', schemas.Error?.properties?.code?.enum ?? []),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Whoever sends a value may leave a member out by setting it to undefined; what is received never holds undefined. */
function interfaceSource(
  name: string,
  { description, properties = {}, required = [] }: Schema,
  isSent: boolean,
): string {
  const members = Object.entries(properties).map(([member, schema]) => {
    const isRequired = required.includes(member);
    const type = typeOf(schema) + (isSent && !isRequired ? ' | undefined' : '');
    return `${doc(schema.description, '  ')}  readonly ${member}${isRequired ? '' : '?'}: ${type};\n`;
  });
  return `${doc(description)}export interface ${name} {\n${members.join('')}}`;
}

function querySource({ operationId, parameters = [] }: Operation): string[] {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return [];
  const properties = Object.fromEntries(
    query.map(({ name, description, schema }) => [name, { ...schema, description: description ?? schema.description }]),
  ) as Record<string, Schema>;
  const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
  return [interfaceSource(name, { description: `The query of ${operationId}.`, properties }, true)];
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return nameOf(schema.$ref) ?? 'never';
  if (schema.enum) return schema.enum.map(quoted).join(' | ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'array' && schema.items) return `readonly ${typeOf(schema.items)}[]`;
  if (schema.type === 'object' && schema.properties) {
    const { properties, required = [] } = schema;
    const members = Object.entries(properties).map(
      ([name, member]) => `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(member)}`,
    );
    return `{ ${members.join('; ')} }`;
  }
  if (schema.type === 'string' || schema.type === 'boolean' || schema.type === 'null') return schema.type;
  throw new Error(`the generator does not know the schema ${JSON.stringify(schema)}`);
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

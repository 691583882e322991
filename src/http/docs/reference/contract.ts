/** The parts of an OpenAPI document, as this service generates it, that the reference is rendered from. */
export interface Contract {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly description: string; readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ContractOperation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly bearerFormat: string }>>;
  } & Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface ContractOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly 'x-stability'?: string;
  readonly 'x-deprecated-sunset'?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Referable<ContractParameter>[];
  readonly requestBody?: { readonly content: JsonContent };
  readonly responses: Readonly<Record<string, Referable<ContractResponse>>>;
}

interface ContractParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: Referable<Schema>;
}

interface ContractResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Referable<{ readonly description: string }>>>;
  readonly content?: JsonContent;
}

interface JsonContent {
  readonly 'application/json': {
    readonly schema: Referable<Schema>;
    readonly example?: unknown;
    readonly examples?: Readonly<Record<string, { readonly value: { readonly message: string } }>>;
  };
}

type Referable<T> = T | { readonly $ref: string };

/** A JSON Schema, with the words for what its pattern forbids. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Referable<Schema>>>;
  readonly items?: Referable<Schema>;
  readonly anyOf?: readonly Referable<Schema>[];
  /** What to send instead, by a pattern of what is wrong. */
  readonly 'x-violation'?: Readonly<Record<string, string>>;
}

/** A parameter, or a member of a body. */
export interface Field {
  readonly name: string;
  /** As shown: `string`, `array of Category`, `object or null`. */
  readonly type: string;
  readonly isRequired: boolean;
  /** Markdown. */
  readonly description: string;
  readonly schema: Schema;
  readonly members: readonly Field[];
}

/** A body: the name of its schema, its members and an example. */
export interface Body {
  readonly type: string;
  readonly fields: readonly Field[];
  readonly example: unknown;
}

/** An error that an operation can answer. */
export interface OperationError {
  readonly status: string;
  readonly code: string;
  readonly meaning: string;
}

/** An operation as the reference shows it. */
export interface ReferenceOperation {
  readonly id: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  readonly stability: string | undefined;
  /** The last day, if the operation is deprecated. */
  readonly sunset: string | undefined;
  readonly scopes: readonly string[];
  readonly inPath: readonly Field[];
  readonly inQuery: readonly Field[];
  readonly inHeader: readonly Field[];
  readonly body: Body | undefined;
  readonly success: {
    readonly status: string;
    readonly description: string;
    readonly body: Body | undefined;
    /** Without those of every answer. */
    readonly headers: readonly { readonly name: string; readonly description: string }[];
  };
  readonly isConditional: boolean;
  /** Without those that `sharedErrors` gives, but for `validation_failed` where there are values. */
  readonly errors: readonly OperationError[];
}

/** Every operation of the contract, in its order. */
export function operationsOf(contract: Contract): ReferenceOperation[] {
  const shared = new Set(sharedErrors(contract).map(({ code }) => code));
  return allOperations(contract).map((each) => {
    // Every operation has no parameter but its own; those with some have values to be checked as well.
    const hasValues = each.body !== undefined || each.inQuery.length > 0;
    const isOwn = ({ code }: OperationError) => !shared.has(code) || (hasValues && code === 'validation_failed');
    return { ...each, errors: each.errors.filter(isOwn) };
  });
}

/** The errors of every operation that needs a scope, or of every operation if none does. */
export function sharedErrors(contract: Contract): readonly OperationError[] {
  const all = allOperations(contract);
  const scoped = all.filter(({ scopes }) => scopes.length > 0);
  const [first, ...others] = scoped.length > 0 ? scoped : all;
  const isShared = ({ code }: OperationError) =>
    others.every(({ errors }) => errors.some((each) => each.code === code));
  return first?.errors.filter(isShared) ?? [];
}

function allOperations(contract: Contract): ReferenceOperation[] {
  return Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      describe(contract, { path, method: method.toUpperCase(), operation }),
    ),
  );
}

interface Found {
  readonly path: string;
  readonly method: string;
  readonly operation: ContractOperation;
}

function describe(contract: Contract, { path, method, operation }: Found): ReferenceOperation {
  const { responses, security = [], requestBody } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) => follow(contract, parameter));
  const placed = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required = false, description, schema }) =>
        fieldOf(contract, { name, isRequired: required, description, schema }),
      );
  const [status = '', response] = Object.entries(responses).find(([each]) => each.startsWith('2')) ?? [];
  if (!response) throw new Error(`${operation.operationId} has no successful response`);
  const { description, headers = {}, content } = follow(contract, response);
  return {
    id: operation.operationId,
    tag: operation.tags[0] ?? '',
    method,
    path,
    summary: operation.summary,
    description: operation.description,
    stability: operation['x-stability'],
    sunset: operation['x-deprecated-sunset'],
    scopes: security.flatMap((scheme) => Object.values(scheme).flat()),
    inPath: placed('path'),
    inQuery: placed('query'),
    inHeader: placed('header'),
    body: requestBody && bodyOf(contract, requestBody.content),
    success: {
      status,
      description,
      body: content && bodyOf(contract, content),
      headers: Object.entries(headers).flatMap(([name, header]) =>
        '$ref' in header ? [] : [{ name, description: header.description }],
      ),
    },
    isConditional: '304' in responses,
    errors: errorsOf(contract, responses),
  };
}

function errorsOf(contract: Contract, responses: ContractOperation['responses']): OperationError[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const { examples = {} } = follow(contract, response).content?.['application/json'] ?? {};
    return Object.entries(examples).map(([code, { value }]) => ({ status, code, meaning: value.message }));
  });
}

function bodyOf(contract: Contract, content: JsonContent): Body {
  const { schema, example } = content['application/json'];
  const { items } = follow(contract, schema);
  return { type: typeOf(contract, schema), fields: membersOf(contract, items ?? schema), example };
}

function fieldOf(
  contract: Contract,
  {
    name,
    isRequired,
    description,
    schema,
  }: Pick<Field, 'name' | 'isRequired'> & {
    readonly description: string | undefined;
    readonly schema: Referable<Schema>;
  },
): Field {
  const followed = follow(contract, schema);
  return {
    name,
    type: typeOf(contract, schema),
    isRequired,
    description: description ?? followed.description ?? '',
    schema: followed,
    members: membersOf(contract, followed.items ?? schema),
  };
}

function membersOf(contract: Contract, schema: Referable<Schema>): Field[] {
  const { properties, required = [], anyOf = [] } = follow(contract, schema);
  if (!properties) return anyOf.flatMap((each) => membersOf(contract, each));
  return Object.entries(properties).map(([name, member]) => {
    const { description } = follow(contract, member);
    return fieldOf(contract, { name, isRequired: required.includes(name), description, schema: member });
  });
}

function typeOf(contract: Contract, schema: Referable<Schema>): string {
  const { type, items, anyOf } = follow(contract, schema);
  if (anyOf) return anyOf.map((each) => typeOf(contract, each)).join(' or ');
  if (items) return `array of ${typeOf(contract, items)}`;
  return '$ref' in schema ? nameOf(schema.$ref) : (type ?? 'any');
}

function follow<T extends object>({ components }: Contract, part: Referable<T>): T {
  if (!('$ref' in part)) return part;
  const kind = part.$ref.split('/').at(-2) ?? '';
  return components[kind]?.[nameOf(part.$ref)] as T;
}

function nameOf(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

import { ENVIRONMENTS, SCOPES } from '../../catalog/api-key.ts';
import { WAYS } from '../../catalog/audit.ts';
import { BAN_SECONDS } from '../../catalog/ban.ts';
import { Category } from '../../catalog/category.ts';
import { ROLES } from '../../catalog/operator/access.ts';
import { ORDER_STATES, Order } from '../../catalog/order.ts';
import { InventoryItem, Pet } from '../../catalog/pet.ts';
import { LIMIT_MAX, PLAN_NAMES } from '../../catalog/plan.ts';
import { Id, Name } from '../../catalog/resource.ts';
import { objectOf } from '../../catalog/validate.ts';

/** The shapes of the operator API; the commands print the same with `--json`. */

const moment = (description: string, example = '2026-01-01T12:00:00Z') =>
  ({ type: 'string', format: 'date-time', description, example }) as const;

/** The examples of answers are made from those of their members; a member that may be null is, without one. */
const orNull = <S extends object>(schema: S, example?: string | number) =>
  ({ anyOf: [schema, { type: 'null' }], example }) as const;
const text = (description: string, example?: string) => ({ type: 'string', description, example }) as const;
const count = (description: string, example = 0) => ({ type: 'integer', minimum: 0, description, example }) as const;

/** Ids in examples. */
export const KEY_ID = 'key_VXnvMwGskigm0Sfq';
export const REQUEST_ID = 'hE7GR_cEMx1KfM2V.1f';

const Limits = objectOf('Limits', 'How many requests a key may make', {
  additionalProperties: false,
  required: ['minute', 'day'],
  properties: {
    minute: { ...count('Requests per minute', 300), minimum: 1, maximum: LIMIT_MAX },
    day: { ...count('Requests per UTC day', 10_000), minimum: 1, maximum: LIMIT_MAX },
  },
});

const wantedFields = {
  name: { ...text('Who uses the key, or what it is for'), maxLength: 100, example: 'shop' },
  plan: { type: 'string', enum: PLAN_NAMES, description: 'The plan', example: 'pro' },
  limits: { ...Limits, title: undefined, description: 'Limits of its own, for the enterprise plan alone' },
  scopes: {
    type: 'array',
    items: { type: 'string', enum: SCOPES },
    minItems: 1,
    maxItems: SCOPES.length,
    description: 'What the key may do; all scopes if it is missing',
  },
  expiresAt: orNull(moment('When the key ends; null for never')),
  owner: orNull({ ...text("The customer's own id; null for none"), maxLength: 255 }),
} as const;

export const NewKey = objectOf('NewKey', 'A key to be issued', {
  additionalProperties: false,
  required: ['name', 'plan'],
  properties: wantedFields,
});

/** The body that changes a key; absent members stay. */
export const KeyChange = objectOf('KeyChange', 'What changes of a key; members that are missing stay', {
  additionalProperties: false,
  properties: wantedFields,
});

export const Rotation = objectOf('Rotation', 'How a key is rotated', {
  additionalProperties: false,
  properties: {
    grace: text('How long the old secret still works, `0` to `30d`; `24h` if it is missing', '24h'),
  },
});

export const Revocation = objectOf('Revocation', 'How a key is revoked: there is nothing to say', {
  additionalProperties: false,
  properties: {},
});

export const Reset = objectOf('Reset', 'Which windows are reset', {
  additionalProperties: false,
  properties: {
    window: { type: 'string', enum: ['both', 'minute', 'day'], description: 'The window; both if it is missing' },
  },
});

export const Key = responseOf('Key', 'An API key, without its secret', {
  optional: ['graces'],
  properties: {
    id: text('Unique identifier', KEY_ID),
    name: text('Who uses the key, or what it is for', 'shop'),
    prefix: text('The visible beginning of the secret', 'petcat_live_MJPj'),
    environment: { type: 'string', enum: ENVIRONMENTS, description: 'Where the key is accepted' },
    plan: { type: 'string', enum: PLAN_NAMES, description: 'The plan', example: 'pro' },
    limits: Limits,
    scopes: { type: 'array', items: { type: 'string', enum: SCOPES }, description: 'What the key may do' },
    createdAt: moment('When the key was issued'),
    expiresAt: orNull(moment('When the key ends; null for never')),
    revokedAt: orNull(moment('When the key was revoked; null if it was not')),
    pausedAt: orNull(moment('Since when the key is paused; null if it is not')),
    owner: orNull(text("The customer's own id; null for none"), 'cus_42'),
    lastUsedAt: orNull(moment('When the key was last used, to within seconds; null if not within two years')),
    usedToday: count('Requests admitted since 00:00 UTC'),
    ban: orNull({
      type: 'object',
      required: ['until', 'reason'],
      properties: { until: moment('When the ban ends'), reason: text('Why the key is banned') },
    }),
    graces: {
      type: 'array',
      items: {
        type: 'object',
        required: ['prefix', 'endsAt'],
        properties: { prefix: text('The visible beginning of an old secret'), endsAt: moment('Until when it works') },
      },
      description: 'The old secrets that still work; absent without one',
    },
  },
});
/** A key with its secret, which no later answer repeats. */
export const IssuedKey = {
  ...Key,
  title: 'IssuedKey',
  required: [...Key.required, 'key'],
  properties: {
    ...Key.properties,
    key: text('The secret; it is shown this once', 'petcat_live_MJPj00000000000000000000000000000000'),
  },
  description: 'An API key with its new secret',
} as const;

const role = {
  type: 'string',
  enum: ROLES,
  description: 'What it may do; each role may also do what those before it may',
} as const;

export const NewToken = objectOf('NewToken', 'A token to be issued', {
  additionalProperties: false,
  required: ['name', 'role'],
  properties: {
    name: { ...text('Who uses the token; the actor in the audit'), maxLength: 100, example: 'billing' },
    role,
    expiresAt: orNull(moment('When the token ends; null for never')),
  },
});

export const OperatorToken = responseOf('OperatorToken', 'A token of this API, without its secret', {
  properties: {
    id: text('Unique identifier', 'op_VXnvMwGskigm0Sfq'),
    name: text('Who uses the token; the actor in the audit', 'billing'),
    prefix: text('The visible beginning of the secret', 'petcat_op_MJPj00'),
    role: { ...role, example: 'keys' },
    issuedBy: orNull(text('Who issued it; null if the audit does not have it'), 'alice'),
    createdAt: moment('When the token was issued'),
    expiresAt: orNull(moment('When the token ends; null for never')),
    revokedAt: orNull(moment('When the token was revoked; null if it was not')),
  },
});

/** A token with its secret, which no later answer repeats. */
export const IssuedToken = {
  ...OperatorToken,
  title: 'IssuedToken',
  required: [...OperatorToken.required, 'token'],
  properties: {
    ...OperatorToken.properties,
    token: text('The secret; it is shown this once', 'petcat_op_MJPj00000000000000000000000000000000'),
  },
  description: 'A token with its secret',
} as const;

export const Session = responseOf('Session', 'An open session of the console', {
  properties: {
    id: text('Unique identifier, which opens nothing', 'session_VXnvMwGskigm0Sfq'),
    actor: text('Who asked for the login', 'alice'),
    role: { ...role, example: 'admin' },
    openedAt: moment('When it was opened'),
    lastSeenAt: moment('When it was last used, to within a minute', '2026-01-01T12:05:00Z'),
    endsAt: moment('When it ends at the latest', '2026-01-02T00:00:00Z'),
  },
});

export const Ban = responseOf('Ban', 'A ban that is on', {
  properties: {
    keyId: text('The banned key', KEY_ID),
    startedAt: moment('When the ban began'),
    endsAt: moment('When the ban ends', '2026-01-01T12:01:00Z'),
    level: {
      type: 'integer',
      minimum: 1,
      description: `Which ban in a row, ${BAN_SECONDS.length} at most; each lasts longer`,
    },
    reason: text('Why the key is banned', 'refused 61 more times within a minute of a 429'),
  },
});

const counts = {
  served: count('Answers below 400', 120),
  refused: count('Answers with 429', 3),
  clientErrors: count('Other answers of 400 to 499', 1),
  serverErrors: count('Answers from 500'),
} as const;

const at = moment('When the minute, hour, day or month began');
const used = {
  ...counts,
  first: moment('The first request'),
  last: moment('The last request', '2026-01-01T12:34:56Z'),
} as const;

export const KeyUsage = responseOf('KeyUsage', 'The requests of one key; `at` is in a series', {
  optional: ['at'],
  properties: {
    at,
    id: text('The key', KEY_ID),
    name: text('Its name', 'shop'),
    owner: orNull(text("The customer's own id; null for none"), 'cus_42'),
    ...used,
  },
});

/** The usage of one owner's keys in a range of time. */
export const OwnerUsage = responseOf('OwnerUsage', 'The requests of all keys of one owner; `at` is in a series', {
  optional: ['at'],
  properties: { at, owner: orNull(text("The customer's own id; null for keys without one")), ...used },
});

export const RouteUsage = responseOf('RouteUsage', 'The requests with a key to one route; `at` is in a series', {
  optional: ['at'],
  properties: {
    at,
    route: text('Method and template, `unmatched` where nothing is'),
    ...used,
  },
});

export const UsagePoint = responseOf('UsagePoint', 'The requests within one minute, hour, day or month', {
  properties: { at, ...counts },
});

/** A recent request, without its body, query and headers. */
export const KeyRequest = responseOf('KeyRequest', 'A request with a key, as this instance answered it', {
  properties: {
    requestId: text('The `X-Request-Id` of the answer', REQUEST_ID),
    at: moment('When it was answered'),
    keyId: text('The key', KEY_ID),
    method: text('The method', 'GET'),
    route: text('The template of the route; `unmatched` without one', '/v1/categories'),
    status: { type: 'integer', description: 'The status of the answer', example: 429 },
    code: orNull(text('The code of an error'), 'rate_limit_exceeded'),
    durationMs: { type: 'number', minimum: 0, description: 'From the head of the request to the answer', example: 0.2 },
    minuteRemaining: orNull(count('What the minute had left; null if the request was not counted'), 0),
    dayRemaining: orNull(count('What the day had left'), 940),
    reason: orNull(text('Why it was refused, for a 429 or a 401'), 'the limit of 60 requests per minute was reached'),
    userAgent: orNull(text('The first 100 printable characters of its `User-Agent`'), 'shop/2.1'),
  },
});

/** The answer to “why”. */
export const Why = responseOf('Why', 'Why a request was answered as it was', {
  properties: {
    sentence: text('The reason in one sentence', 'Over the limit of the minute: the key had used its 60 requests.'),
    details: {
      type: 'array',
      items: { type: 'string', example: 'A minute begins with its first request and lasts 60 seconds.' },
      description: 'What the caller and the operator can do',
    },
    requestId: orNull(text('The request that it is about; null for a key without a kept failure'), REQUEST_ID),
    keyId: text('The key', KEY_ID),
  },
});

export const AuditEntry = responseOf('AuditEntry', 'A change by an operator or a key, or an event of the service', {
  optional: ['user', 'requestId', 'idempotencyKey'],
  properties: {
    id: text('Unique identifier', '42'),
    at: moment('When the change was made'),
    actor: text('Who made it: a system user, the name of a token, the id of a key, or the machine of the `service`'),
    via: { type: 'string', enum: WAYS, description: 'By which way' },
    user: text('The system user of a command, where `actor` is a name that was given'),
    action: text('What was done', 'key.update'),
    target: text('The id of what was changed; what it is, the action says first'),
    requestId: orNull(text('Of a change by a key: the `X-Request-Id`', REQUEST_ID)),
    idempotencyKey: text('Of a change by a key: the SHA-256 of its `Idempotency-Key`, in base64url'),
    before: { description: 'The changed members before; null where there was nothing' },
    after: { description: 'The changed members after' },
  },
});

const maker = {
  keyId: text('The key that made it; of an imported category its way, such as `cli`', KEY_ID),
  keyName: orNull(text('Its name now; null if there is no such key')),
  owner: orNull(text("The customer's own id; null for none")),
};
const made = { createdAt: moment('When it was made'), ...maker } as const;

const HistoryLine = responseOf('HistoryLine', 'A change, by a key or by an operator; neither for `shipped`', {
  optional: ['keyId', 'keyName', 'owner', 'actor', 'via', 'user'],
  properties: {
    at: moment('When the change was made'),
    action: text('What was done, as the audit names it, or `shipped`', 'pet.update'),
    ...maker,
    actor: text('The operator who made it'),
    via: { type: 'string', enum: WAYS, description: 'The way of the operator' },
    user: text('The system user of a command, where `actor` is a name that was given'),
    requestId: orNull(text('The `X-Request-Id` of the change; null where none is kept'), REQUEST_ID),
    changes: {
      type: 'object',
      required: ['before', 'after'],
      properties: {
        before: { description: 'The changed members before; null where there was nothing', example: { quantity: 1 } },
        after: { description: 'The changed members after', example: { quantity: 2 } },
      },
    },
  },
});

const recorded = {
  removed: {
    type: 'boolean',
    description: 'True once cancelled or deleted: the public API has it not',
    example: false,
  },
  history: {
    type: 'array',
    items: HistoryLine,
    description: 'The changes, the oldest first: the first and the latest 200',
  },
} as const;

export const OrderHistory = responseOf('OrderHistory', 'An order, also a cancelled one, and its changes', {
  optional: ['shipDate'],
  properties: { ...Order.properties, ...recorded },
});

export const ListedPet = responseOf('ListedPet', 'A pet with the name of its category and its stock', {
  properties: {
    ...Pet.properties,
    categoryName: orNull(text('The name of its category')),
    quantity: InventoryItem.properties.quantity,
    ...made,
  },
});

export const ListedOrder = responseOf('ListedOrder', 'An order with the name of its pet', {
  optional: ['shipDate'],
  properties: {
    ...Order.properties,
    state: { type: 'string', enum: ORDER_STATES, description: 'Its state' },
    petName: orNull(text('The name of its pet')),
    ...made,
  },
});

export const PetHistory = responseOf('PetHistory', 'A pet with its stock, and its changes', {
  properties: { ...Pet.properties, quantity: InventoryItem.properties.quantity, ...recorded },
});

export const ListedCategory = responseOf('ListedCategory', 'A category, and who made it', {
  optional: ['description'],
  properties: { ...Category.properties, ...made },
});

export const CategoryHistory = responseOf('CategoryHistory', 'A category, also a deleted one, and its changes', {
  optional: ['description'],
  properties: { ...Category.properties, ...recorded },
});

export const CategoryChange = objectOf('CategoryChange', 'What changes of a category', {
  additionalProperties: false,
  required: ['name'],
  properties: { name: { ...Name, description: 'The new name' } },
});

export const CategoryId = { ...Id, description: 'The id of the category' } as const;

/** An object in a response, which always has every member but the optional ones. */
function responseOf<P extends object>(
  title: string,
  description: string,
  { properties, optional = [] }: { readonly properties: P; readonly optional?: readonly string[] },
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return objectOf(title, description, { required, properties });
}

import { CatalogError } from '../../catalog/error.ts';
import { refusal } from '../../http/errors.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import {
  answering,
  type DefectTable,
  type Fault,
  heading,
  json,
  jsonIn,
  type Members,
  members,
  rewriting,
  status,
} from './fault.ts';

const PATH = '/v1/categories';
const LISTED_MAX = 20;
const LATE_SECONDS = 1;
const NAME_CHARACTERS_MAX = 255;

const CREATED = { status: 201, path: PATH };
const LIST = { status: 200, method: 'GET', path: PATH };
const WHOLE = { ...LIST, url: PATH, when: ({ request }: Exchange) => !request.headers['if-none-match'] };
const CATEGORY = { status: 200, path: /^.v1.categories.\d+$/ };

/** Changes the categories of some lists. */
const listing = rewriting<readonly Members[]>;

/** Categories that are not what was sent, and lists that are not what is stored. */
export const CATEGORY_DEFECTS: DefectTable = {
  'list.200-array list-is-206: a list is 206': answering(WHOLE, status(206)),
  'list.200-array list-in-an-object: the list is a member of an object': rewriting(WHOLE, (items) => ({ items })),
  [`list.every-category list-capped-at-20: the list ends after ${LISTED_MAX} categories`]: listing(LIST, (categories) =>
    categories.slice(0, LISTED_MAX),
  ),
  'list.ascending list-newest-first: the list is newest first': listing(WHOLE, (all) => all.toReversed()),
  'create.201-new-id create-is-200: a create is 200': answering(CREATED, status(200)),
  'create.201-new-id create-without-id: a create answers without the id': answering(
    CREATED,
    members({ id: undefined }),
  ),
  'create.id-integer id-is-a-string: ids are strings': showing(withTextId),
  'create.id-integer created-id-is-a-string: the id of a create is a string, that of the list is not': answering(
    CREATED,
    json(withTextId),
  ),
  'create.id-integer listed-id-is-a-string: the ids of the list are strings, that of a create is not': listing(
    LIST,
    (all) => all.map(withTextId),
  ),
  'create.every-field description-dropped: the description is not echoed': showing(({ description, ...rest }) =>
    description === '' ? { ...rest, description } : rest,
  ),
  'create.every-field short-description-refused: a description of one to nine characters is 400': refusing(
    ({ description }) => typeof description === 'string' && /^.{1,9}$/.test(description),
  ),
  'create.every-field described-in-capitals: a create with a short description answers with its name in capitals':
    rewriting(CREATED, ({ name, ...rest }) => {
      const isShort = /^.{1,20}$/.test(`${rest.description ?? ''}`);
      return { ...rest, name: isShort ? `${name}`.toUpperCase() : name };
    }),
  'create.every-field han-letters-lost: Chinese letters become question marks': changing('name', (name) =>
    name.replaceAll(/\p{Script=Han}/gu, '?'),
  ),
  'create.every-field description-escaped: angle brackets in a description are escaped as HTML': changing(
    'description',
    (description) => description.replaceAll('<', '&lt;'),
  ),
  'create.description-absent description-is-null: a category without a description has one of null':
    showing(withDescription),
  'create.description-absent listed-description-is-null: the list has a description of null, the answer to a create has none':
    listing(LIST, (all) => all.map(withDescription)),
  'create.id-by-service id-of-the-client: an id in the body of a create is taken': rewriting(
    CREATED,
    (category, exchange) => ({ ...category, id: bodyOf(exchange).id ?? category.id }),
  ),
  'create.refused-creates-nothing refused-create-is-kept: a create whose description is no string is 400, and stored':
    handling(async (create, exchange) => {
      const { name, description } = bodyOf(exchange);
      if (typeof name === 'string' && typeof description === 'number') {
        const refused = exchange.body;
        exchange.body = { name };
        await create();
        exchange.body = refused;
      }
      return create();
    }),
  'create.in-next-list list-late: the list misses a new category for a second': (time) => {
    let newest = { id: 0, until: 0 };
    return answering({ path: PATH }, (answer, exchange) => {
      if (answer.status === 201) {
        newest = { id: Number((jsonIn(answer) as Members).id), until: time.now().unix + LATE_SECONDS };
      }
      const isList = answer.status === 200 && exchange.request.method === 'GET';
      if (!isList || newest.until <= time.now().unix) return answer;
      return json<readonly Members[]>((categories) => categories.filter(({ id }) => id !== newest.id))(
        answer,
        exchange,
      );
    });
  },
  'create.only-these-members unknown-members-refused: an unknown member in a body is 400': refusing(
    (body) => 'extra' in body,
  ),
  'create.only-these-members created-with-a-date: a create answers with createdAt': answering(
    CREATED,
    members({ createdAt: '2026-01-01T00:00:00Z' }),
  ),
  'create.only-these-members listed-with-a-link: the categories of the list have a link to themselves': listing(
    LIST,
    (all) => all.map((category) => ({ ...category, href: `${PATH}/${category.id}` })),
  ),
  'create.strings-unchanged name-trimmed: white space around a name is removed': changing('name', (name) =>
    name.trim(),
  ),
  'create.strings-unchanged empty-description-dropped: an empty description is dropped': showing(
    ({ description, ...rest }) => (description ? { ...rest, description } : rest),
  ),
  'create.longest-strings lengths-in-utf-16: the length of a name is that of its UTF-16': refusing(
    ({ name }) => `${name}`.length > NAME_CHARACTERS_MAX,
  ),
  'create.longest-strings name-cut: a name is cut after 200 characters': changing('name', cutTo(200)),
  'create.longest-strings description-cut: a description is cut after 1,000 characters': changing(
    'description',
    (description) => description.slice(0, 1_000),
  ),
  'create.same-name-twice name-taken: a name that a category has already is 409': () => {
    const names = new Set<unknown>();
    return creating((body, { request }) => {
      const isTaken = names.has(body.name) && request.headers['idempotency-key'] === undefined;
      if (isTaken) throw new CatalogError('catalog_full', 'There is a category of this name; choose another');
      names.add(body.name);
      return body;
    });
  },
  'create.same-name-twice same-name-same-id: a create of a name that exists answers with the first id': () => {
    const ids = new Map<unknown, unknown>();
    return rewriting(CREATED, (category) => {
      if (!ids.has(category.name)) ids.set(category.name, category.id);
      return { ...category, id: ids.get(category.name) };
    });
  },
  'create.location location-without-v1: the Location of a create is /categories/{id}': heading(
    { status: 201 },
    'Location',
    (address) => address.replace('/v1', ''),
  ),
  'create.location category-not-found: a category by its id is 404': answering({ ...CATEGORY, method: 'GET' }, () =>
    refusal('not_found', 'There is no such category'),
  ),
  'create.location category-read-differs: a category by its id has another name': answering(
    CATEGORY,
    members({ name: 'Dog' }),
  ),
  'create.ids-unique id-given-twice: each tenth category has the id of the one before': showing((category) => ({
    ...category,
    id: Number(category.id) - (Number(category.id) % 10 ? 0 : 1),
  })),
  'create.ids-unique listed-twice: the first category is twice in the list': listing(WHOLE, (categories) => [
    ...categories.slice(0, 1),
    ...categories,
  ]),
  'create.ids-unique description-refused-by-a-word: a description that begins with "The" is 400': refusing(
    ({ description }) => typeof description === 'string' && description.startsWith('The '),
  ),
  'create.400-without-name error-is-200: a create without a name is 200, with the error in the body': answering(
    { code: 'validation_failed', when: ({ body }) => JSON.stringify(body) === '{}' },
    status(200),
  ),
  'create.400-invalid-values number-is-a-name: a number as name becomes a string': naming((name) =>
    typeof name === 'number' ? `${name}` : name,
  ),
  'create.400-invalid-values null-is-a-name: null as name becomes a string': naming((name) =>
    name === null ? 'conformance-null' : name,
  ),
  'create.400-null-description null-description-taken: a description of null is taken for none': creating(
    ({ description, ...rest }) => (description === null ? rest : { ...rest, description }),
  ),
  // A trailing comma, which JSON5 accepts, stays 400: a defect breaks one rule only.
  'create.400-bad-json bad-json-is-500: a body that cannot be parsed is 500': answering(
    { code: 'invalid_json', when: (exchange) => !hasTrailingComma(exchange) },
    () => refusal('internal_error', 'Something went wrong; try again later'),
  ),
  'create.400-lenient-json trailing-comma-taken: a comma at the end of an object is passed over': answering(
    { code: 'invalid_json', when: hasTrailingComma },
    () => ({ status: 201, body: '{"id":9007199254740000,"name":"Dog"}' }),
  ),
  'create.400-empty-name empty-name: an empty name is taken for "Unnamed"': naming((name) =>
    name === '' ? 'Unnamed' : name,
  ),
  'create.400-long-name long-name-taken: a name that is too long is cut to fit': naming((name) =>
    typeof name === 'string' ? cutTo(NAME_CHARACTERS_MAX)(name) : name,
  ),
  'create.400-control-characters control-characters-dropped: control characters in a name are dropped': naming(
    (name) => (typeof name === 'string' ? name.replaceAll(/\p{Cc}/gu, '') : name),
  ),
};

function withTextId(category: Members): Members {
  return { ...category, id: `${category.id}` };
}

function withDescription(category: Members): Members {
  return { description: null, ...category };
}

function showing(change: (category: Members) => Members): Fault {
  const show = json((value) => (Array.isArray(value) ? value.map(change) : change(value)));
  return answering({ path: /^.v1.categories/ }, (answer, exchange) =>
    answer.status > 201 || answer.body === undefined ? answer : show(answer, exchange),
  );
}

function changing(name: 'name' | 'description', change: (text: string) => string): Fault {
  return showing((category) => {
    const text = category[name];
    return typeof text === 'string' ? { ...category, [name]: change(text) } : category;
  });
}

function cutTo(characters: number): (text: string) => string {
  return (text) => [...text].slice(0, characters).join('');
}

/** The body of a create; without members if it is no object. */
function bodyOf({ body }: Exchange): Members {
  return typeof body === 'object' && body !== null ? (body as Members) : {};
}

function hasTrailingComma({ bodyBytes }: Exchange): boolean {
  return bodyBytes.includes(',}');
}

type Handled = Answer | Promise<Answer>;

/** Replaces the handler of creates, which is an argument. */
function handling(handle: (create: () => Handled, exchange: Exchange) => Handled): Fault {
  return {
    parts: (options) => ({
      ...options,
      operations: options.operations.map((operation) => {
        if (operation.id !== 'createCategory') return operation;
        return { ...operation, handle: (...args) => handle(() => operation.handle(...args), args[1]) };
      }),
    }),
  };
}

/** Changes the body of a create before it is checked. */
function creating(change: (body: Members, exchange: Exchange) => Members): Fault {
  return handling((create, exchange) => {
    const { body } = exchange;
    if ('name' in bodyOf(exchange) && !Array.isArray(body)) exchange.body = change(body as Members, exchange);
    return create();
  });
}

function naming(change: (name: unknown) => unknown): Fault {
  return creating((body) => ({ ...body, name: change(body.name) }));
}

function refusing(isRefused: (body: Members) => boolean): Fault {
  return handling((create, exchange) =>
    isRefused(bodyOf(exchange)) ? refusal('validation_failed', 'The body is not valid') : create(),
  );
}

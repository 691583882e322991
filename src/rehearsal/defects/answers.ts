import { refusal } from '../../http/errors.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { creating, listing, showing } from './categories.ts';
import { type Defect, defect, type Fault, jsonIn, operating } from './defect.ts';

type Category = Readonly<Record<string, unknown>>;

const PATH = '/v1/categories';
/** What `JSON.parse` reads from the body of a create. */
const bodyOf = ({ body }: Exchange) => (typeof body === 'object' && body !== null ? body : {}) as Category;

/** Creates and lists that differ from what was sent or stored, in the answers alone. */
export const ANSWER_DEFECTS: readonly Defect[] = [
  defect(
    'list.200-array',
    'list-is-206',
    'a list is 206',
    whole((answer) => ({ ...answer, status: 206 })),
  ),
  defect(
    'list.200-array',
    'list-in-an-object',
    'the list is a member of an object',
    whole((answer) => ({ ...answer, body: JSON.stringify({ items: jsonIn(answer) }) })),
  ),
  defect(
    'create.201-new-id',
    'create-without-id',
    'a create answers without the id',
    created(({ id: _, ...rest }) => rest),
  ),
  defect(
    'create.id-integer',
    'created-id-is-a-string',
    'the id of a create is a string, that of the list is not',
    created((category) => ({ ...category, id: `${category.id}` })),
  ),
  defect(
    'create.id-integer',
    'listed-id-is-a-string',
    'the ids of the list are strings, that of a create is not',
    listing((categories) => categories.map((category) => ({ ...category, id: `${category.id}` }))),
  ),
  defect(
    'create.every-field',
    'short-description-refused',
    'a description of one to nine characters is 400',
    refusing(({ description }) => typeof description === 'string' && /^.{1,9}$/.test(description)),
  ),
  defect(
    'create.every-field',
    'described-in-capitals',
    'a create with a short description answers with its name in capitals',
    created((category) =>
      /^.{1,20}$/.test(`${category.description ?? ''}`)
        ? { ...category, name: `${category.name}`.toUpperCase() }
        : category,
    ),
  ),
  defect(
    'create.every-field',
    'han-letters-lost',
    'Chinese letters become question marks',
    showing((category) => ({ ...category, name: `${category.name}`.replaceAll(/\p{Script=Han}/gu, '?') })),
  ),
  defect(
    'create.every-field',
    'description-escaped',
    'angle brackets in a description are escaped as HTML',
    showing((category) => changedDescription(category, (text) => text.replaceAll('<', '&lt;'))),
  ),
  defect(
    'create.description-absent',
    'listed-description-is-null',
    'the list has a description of null, the answer to a create has none',
    listing((categories) => categories.map((category) => ({ description: null, ...category }))),
  ),
  defect(
    'create.refused-creates-nothing',
    'refused-create-is-kept',
    'a create whose description is no string is 400, and stored',
    {
      parts: operating('createCategory', (handle) => async (catalog, exchange) => {
        const { name, description } = bodyOf(exchange);
        if (typeof name === 'string' && typeof description === 'number') {
          const refused = exchange.body;
          exchange.body = { name };
          await handle(catalog, exchange);
          exchange.body = refused;
        }
        return handle(catalog, exchange);
      }),
    },
  ),
  defect(
    'create.only-these-members',
    'unknown-members-refused',
    'an unknown member in a body is 400',
    refusing((body) => 'extra' in body),
  ),
  defect(
    'create.only-these-members',
    'created-with-a-date',
    'a create answers with createdAt',
    created((category) => ({ ...category, createdAt: '2026-01-01T00:00:00Z' })),
  ),
  defect(
    'create.only-these-members',
    'listed-with-a-link',
    'the categories of the list have a link to themselves',
    listing((categories) => categories.map((category) => ({ ...category, href: `${PATH}/${category.id}` }))),
  ),
  defect(
    'create.strings-unchanged',
    'empty-description-dropped',
    'an empty description is dropped',
    showing(({ description, ...rest }) => (description ? { ...rest, description } : rest)),
  ),
  defect(
    'create.longest-strings',
    'name-cut',
    'a name is cut after 200 characters',
    showing((category) => ({ ...category, name: [...`${category.name}`].slice(0, 200).join('') })),
  ),
  defect(
    'create.longest-strings',
    'description-cut',
    'a description is cut after 1,000 characters',
    showing((category) => changedDescription(category, (text) => text.slice(0, 1_000))),
  ),
  defect(
    'create.same-name-twice',
    'same-name-same-id',
    'a create of a name that exists answers with the first id',
    () => {
      const ids = new Map<unknown, unknown>();
      return created((category) => {
        if (!ids.has(category.name)) ids.set(category.name, category.id);
        return { ...category, id: ids.get(category.name) };
      });
    },
  ),
  defect('create.location', 'category-not-found', 'a category by its id is 404', {
    answer: (answer, { path, request }) =>
      request.method === 'GET' && /^.v1.categories.\d+$/.test(path)
        ? refusal('not_found', 'There is no such category')
        : answer,
  }),
  defect('create.location', 'category-read-differs', 'a category by its id has another name', {
    answer: (answer, { path }) =>
      answer.status === 200 && /^.v1.categories.\d+$/.test(path)
        ? { ...answer, body: JSON.stringify({ ...(jsonIn(answer) as Category), name: 'Dog' }) }
        : answer,
  }),
  defect(
    'list.ascending',
    'list-newest-first',
    'the list is newest first',
    whole((answer) => ({ ...answer, body: JSON.stringify((jsonIn(answer) as Category[]).toReversed()) })),
  ),
  defect(
    'create.ids-unique',
    'listed-twice',
    'the first category is twice in the list',
    whole((answer) => {
      const categories = jsonIn(answer) as Category[];
      return { ...answer, body: JSON.stringify([...categories.slice(0, 1), ...categories]) };
    }),
  ),
  defect(
    'create.ids-unique',
    'description-refused-by-a-word',
    'a description that begins with "The" is 400',
    refusing(({ description }) => typeof description === 'string' && description.startsWith('The ')),
  ),
  defect(
    'create.400-invalid-values',
    'number-is-a-name',
    'a number as name becomes a string',
    creating(({ name, ...rest }) => ({ ...rest, name: typeof name === 'number' ? `${name}` : name })),
  ),
  defect(
    'create.400-invalid-values',
    'null-is-a-name',
    'null as name becomes a string',
    creating(({ name, ...rest }) => ({ ...rest, name: name === null ? 'conformance-null' : name })),
  ),
  defect(
    'create.400-null-description',
    'null-description-taken',
    'a description of null is taken for none',
    creating(({ description, ...rest }) =>
      description === null ? rest : { ...rest, ...(description !== undefined && { description }) },
    ),
  ),
  defect('create.400-lenient-json', 'trailing-comma-taken', 'a comma at the end of an object is passed over', {
    answer: (answer, { bodyBytes }) =>
      answer.code === 'invalid_json' && bodyBytes.includes(',}')
        ? { status: 201, body: '{"id":9007199254740000,"name":"Dog"}' }
        : answer,
  }),
  defect(
    'create.400-long-name',
    'long-name-taken',
    'a name that is too long is cut to fit',
    creating((body) => ({ ...body, name: cut(body.name) })),
  ),
  defect(
    'create.400-control-characters',
    'control-characters-dropped',
    'control characters in a name are dropped',
    creating((body) => ({
      ...body,
      name: typeof body.name === 'string' ? body.name.replaceAll(/\p{Cc}/gu, '') : body.name,
    })),
  ),
];

/** A name in 255 characters; the one that is 255 long beyond UTF-16 stays. */
function cut(name: unknown): unknown {
  return typeof name === 'string' && [...name].length > 255 ? [...name].slice(0, 255).join('') : name;
}

function changedDescription(category: Category, change: (text: string) => string): Category {
  const { description } = category;
  return typeof description === 'string' ? { ...category, description: change(description) } : category;
}

/** Changes what creates answer. */
function created(change: (category: Category) => Category): Fault {
  return {
    answer: (answer, { path }) =>
      answer.status === 201 && path === PATH
        ? { ...answer, body: JSON.stringify(change(jsonIn(answer) as Category)) }
        : answer,
  };
}

/** Changes the answer with the list of all categories. */
function whole(change: (answer: Answer) => Answer): Fault {
  return {
    answer: (answer, { request }) =>
      request.method === 'GET' && request.url === PATH && answer.status === 200 && !request.headers['if-none-match']
        ? change(answer)
        : answer,
  };
}

/** Refuses some bodies of a create. */
function refusing(isRefused: (body: Category) => boolean): Fault {
  return {
    parts: operating(
      'createCategory',
      (handle) => (catalog, exchange) =>
        isRefused(bodyOf(exchange)) ? refusal('validation_failed', 'The body is not valid') : handle(catalog, exchange),
    ),
  };
}

import { CatalogError } from '../../catalog/error.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type Defect, type Fault, jsonIn, operating, withHeader } from './defect.ts';

const PATH = '/v1/categories';
const LISTED_MAX = 20;
const LATE_SECONDS = 1;
const NAME_UNITS_MAX = 255;

type Category = Readonly<Record<string, unknown>>;

/** Categories that are not what was sent, and lists that are not what is stored. */
export const CATEGORY_DEFECTS: readonly Defect[] = [
  {
    name: 'create-is-200',
    rule: 'create.201-new-id',
    description: 'a create is 200',
    inject: () => ({
      answer: (answer, { path }) => (answer.status === 201 && path === PATH ? { ...answer, status: 200 } : answer),
    }),
  },
  {
    name: 'id-is-a-string',
    rule: 'create.id-integer',
    description: 'ids are strings',
    inject: () => showing((category) => ({ ...category, id: `${category.id}` })),
  },
  {
    name: 'id-of-the-client',
    rule: 'create.id-by-service',
    description: 'an id in the body of a create is taken',
    inject: () => ({
      answer: (answer, exchange) => {
        const { id } = (exchange.body ?? {}) as Category;
        if (answer.status !== 201 || exchange.path !== PATH || id === undefined) return answer;
        return { ...answer, body: JSON.stringify({ ...(jsonIn(answer) as Category), id }) };
      },
    }),
  },
  {
    name: 'id-given-twice',
    rule: 'create.ids-unique',
    description: 'each tenth category has the id of the one before',
    inject: () =>
      showing((category) => ({ ...category, id: Number(category.id) - (Number(category.id) % 10 ? 0 : 1) })),
  },
  {
    name: 'description-is-null',
    rule: 'create.description-absent',
    description: 'a category without a description has one of null',
    inject: () => showing((category) => ({ description: null, ...category })),
  },
  {
    name: 'description-dropped',
    rule: 'create.every-field',
    description: 'the description is not echoed',
    inject: () =>
      showing(({ description, ...rest }) =>
        description === undefined || description === ''
          ? { ...rest, ...(description === '' && { description }) }
          : rest,
      ),
  },
  {
    name: 'name-trimmed',
    rule: 'create.strings-unchanged',
    description: 'white space around a name is removed',
    inject: () => showing((category) => ({ ...category, name: `${category.name}`.trim() })),
  },
  {
    name: 'list-capped-at-20',
    rule: 'list.every-category',
    description: `the list ends after ${LISTED_MAX} categories`,
    inject: () => listing((categories) => categories.slice(0, LISTED_MAX)),
  },
  {
    name: 'list-late',
    rule: 'create.in-next-list',
    description: 'the list misses a new category for a second',
    inject: (time) => {
      let newest = { id: 0, until: 0 };
      const late = listing((categories) =>
        newest.until > time.now().unix ? categories.filter(({ id }) => id !== newest.id) : categories,
      );
      return {
        answer(answer, exchange) {
          if (answer.status === 201 && exchange.path === PATH) {
            newest = { id: Number((jsonIn(answer) as Category).id), until: time.now().unix + LATE_SECONDS };
          }
          return late.answer?.(answer, exchange) ?? answer;
        },
      };
    },
  },
  {
    name: 'empty-name',
    rule: 'create.400-empty-name',
    description: 'an empty name is taken for "Unnamed"',
    inject: () => creating(({ name, ...rest }) => ({ ...rest, name: name === '' ? 'Unnamed' : name })),
  },
  {
    name: 'lengths-in-utf-16',
    rule: 'create.longest-strings',
    description: 'the length of a name is that of its UTF-16',
    inject: () =>
      creating((body) => {
        if (`${body.name}`.length > NAME_UNITS_MAX) throw new CatalogError('validation_failed', 'The name is too long');
        return body;
      }),
  },
  {
    name: 'name-taken',
    rule: 'create.same-name-twice',
    description: 'a name that a category has already is 409',
    inject: () => {
      const names = new Set<unknown>();
      return creating((body, { request }) => {
        const isTaken = names.has(body.name) && request.headers['idempotency-key'] === undefined;
        if (isTaken) throw new CatalogError('catalog_full', 'There is a category of this name; choose another');
        names.add(body.name);
        return body;
      });
    },
  },
  {
    name: 'location-without-v1',
    rule: 'create.location',
    description: 'the Location of a create is /categories/{id}',
    inject: () => ({
      answer: (answer) => {
        const location = answer.headers?.[answer.headers.indexOf('Location') + 1];
        if (answer.status !== 201 || location === undefined) return answer;
        return withHeader(answer, 'Location', location.replace('/v1', ''));
      },
    }),
  },
];

/** Changes every category in an answer. */
export function showing(change: (category: Category) => Category): Fault {
  return {
    answer: (answer, exchange) => {
      if (answer.status > 201 || answer.body === undefined || !exchange.path.startsWith(PATH)) return answer;
      const value = jsonIn(answer);
      return { ...answer, body: JSON.stringify(Array.isArray(value) ? value.map(change) : change(value as Category)) };
    },
  };
}

/** Changes the list of all categories. */
export function listing(change: (categories: readonly Category[]) => readonly Category[]): Fault {
  const isList = (answer: Answer, { path, request }: Exchange) =>
    path === PATH && request.method === 'GET' && answer.status === 200;
  return {
    answer: (answer, exchange) =>
      isList(answer, exchange) ? { ...answer, body: JSON.stringify(change(jsonIn(answer) as Category[])) } : answer,
  };
}

/** Changes the body of a create before it is checked. */
export function creating(change: (body: Category, exchange: Exchange) => Category): Fault {
  return {
    parts: operating('createCategory', (handle) => (catalog, exchange) => {
      const { body } = exchange;
      if (typeof body === 'object' && body !== null && !Array.isArray(body) && 'name' in body) {
        exchange.body = change(body as Category, exchange);
      }
      return handle(catalog, exchange);
    }),
  };
}

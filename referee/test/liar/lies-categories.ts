import {
  ask,
  body,
  bytes,
  fail,
  head,
  members,
  membersOf,
  name,
  refuse,
  say,
  status,
  store,
  type Told,
  take,
  text,
} from './lie.ts';
import { type Asked, type Category, pathOf, type Way } from './server.ts';

const PATH = '/categories';
const CREATED = { status: 201, path: PATH };
const LIST = { status: 200, method: 'GET', path: PATH };
const WHOLE = { ...LIST, when: ({ url, headers }: Asked) => url === PATH && !headers['if-none-match'] };
const DESCRIBED = { ...CREATED, when: ({ text: sent }: Asked) => sent.includes('"description":"A ') };
const ONE = { status: 200, path: /^\/categories\/\d+$/ };
const NAME_CHARACTERS_MAX = 255;
/** Changes what the whole list shows. */
const list = (change: (all: readonly Category[], asked: Asked) => readonly unknown[]): Way => body(WHOLE, change);
/** Changes each category of the list and of its pages. */
const entry = (change: (category: Category) => object) => body<readonly Category[]>(LIST, (all) => all.map(change));
/** Changes categories with a description that begins with "A", as they are stored. */
const described = (change: (category: Category) => object) =>
  store((each) => (`${each.description}`.startsWith('A ') ? change(each) : each));
const cut = (characters: number) => (full: string) => [...full].slice(0, characters).join('');
const withTextId = (category: Category) => ({ ...category, id: `${category.id}` });
const withNull = (category: Category) => ({ description: null, ...category });
const escaped = (value: unknown) => `${value}`.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Takes some descriptions for another one. */
const asText = (isTaken: (sent: unknown) => boolean) =>
  take(({ description, ...rest }) => ({ ...rest, description: isTaken(description) ? 'a text' : description }));

/** Creates although the answer is a refusal. */
const createAfter = (refusal: number) =>
  say({ status: refusal, method: 'POST', path: PATH }, (_, { state, text: sent }) => {
    const named = /"name":"([^"]+)"/.exec(sent)?.[1];
    if (named === undefined) return;
    state.lastId += 1;
    state.categories = [...state.categories, { id: state.lastId, name: named }];
  });

/** Takes a create as valid that is not: by the text of its body. */
const accept = (pattern: RegExp): Way => ({
  takes: (value, { text: sent }) => (pattern.test(sent) ? { name: 'Conformance-taken' } : value),
});

/** Lists and categories that are not what was sent or is stored, and bodies that are taken or refused wrongly. */
export const OF_CATEGORIES: Told = {
  'list.200-array': {
    'a list is 206': status(WHOLE, 206),
    'the list is a member of an object': body(WHOLE, (items) => ({ items })),
    'the list lacks its last bytes': bytes(WHOLE, (all) => JSON.stringify(all).slice(0, -2)),
  },
  'list.every-category': {
    'the list ends after 20 categories': list((all) => all.slice(0, 20)),
    'the list has no descriptions': entry(({ id, name }) => ({ id, name })),
    'the names of the list are escaped as HTML': entry((each) => ({ ...each, name: escaped(each.name) })),
    'names beyond ASCII are left out of the list': list((all) => all.filter((each) => !/[^ -~]/.test(`${each.name}`))),
    'categories with an empty description are left out of the list': list((all) =>
      all.filter(({ description }) => description !== ''),
    ),
    'each category is listed with the name of the next': list((all) =>
      all.map((each, index) => ({ ...each, name: all[(index + 1) % all.length]?.name })),
    ),
  },
  'list.every-category http.pages': {
    'the list has the newest 15 categories': list((all) => all.slice(-15)),
  },
  'list.every-category create.ids-unique': {
    'the ids of the list are larger by one': entry((each) => ({ ...each, id: Number(each.id) + 1 })),
  },
  'list.every-category list.same-name-twice http.pages': {
    'each third category is never listed': body<readonly Category[]>(LIST, (all) =>
      all.filter(({ id }) => Number(id) % 3 > 0),
    ),
  },
  'list.same-name-twice': {
    'of several categories of one name the first is listed': list((all) =>
      all.filter((each, index) => all.findIndex((other) => other.name === each.name) === index),
    ),
  },
  'list.ascending': {
    'the list is newest first': list((all) => all.toReversed()),
  },
  'create.201-new-id': {
    'a create is 200': status(CREATED, 200),
    'a create answers without the id': members(CREATED, { id: undefined }),
  },
  'create.id-integer': {
    'the id of a create is a string, that of the list is not': body(CREATED, (made) => withTextId(made as never)),
    'the ids of the list are strings, that of a create is not': entry(withTextId),
  },
  'create.every-field': {
    'the description is not stored': store(({ description, ...rest }) =>
      description === '' ? { ...rest, description } : rest,
    ),
    'a description of one to nine characters is 400': refuse(({ description }) =>
      /^.{1,9}$/.test(`${description ?? ''}`),
    ),
    'a create answers with its name in lower case': body(DESCRIBED, (made) => ({
      ...made,
      name: `${made.name}`.toLowerCase(),
    })),
    'Chinese letters become question marks': described((each) => ({
      ...each,
      name: `${each.name}`.replaceAll(/\p{Script=Han}/gu, '?'),
    })),
    'angle brackets in a description are escaped as HTML': text('description', (full) => full.replaceAll('<', '&lt;')),
  },
  'create.description-absent': {
    'a category without a description has one of null': store(withNull),
    'the list has a description of null, a create has none': entry(withNull),
  },
  'create.id-by-service list.ascending': {
    'an id in the body of a create is taken': store((each, { text: sent }) => ({
      ...each,
      id: JSON.parse(sent).id ?? each.id,
    })),
  },
  'create.refused-creates-nothing': {
    'a create that is 400 is stored': createAfter(400),
    'a create that is 401 is stored': createAfter(401),
  },
  'create.in-next-list': {
    'the list misses a new category for a second': () => {
      let [id, until] = [0, 0];
      return {
        says(answer, asked) {
          if (pathOf(asked) !== PATH) return;
          if (answer.status === 201) [id, until] = [Number(membersOf(answer.body).id), asked.now + 1];
          if (answer.status !== 200 || asked.method !== 'GET' || until <= asked.now) return;
          answer.body = (answer.body as readonly Category[]).filter((each) => each.id !== id);
        },
      };
    },
  },
  'create.only-these-members': {
    'an unknown member in a body is 400': refuse((sent) => 'extra' in sent),
    'a create answers with createdAt': members(CREATED, { createdAt: '2026-01-01T00:00:00Z' }),
    'the categories of the list have a link': entry((each) => ({ ...each, href: `/v1/categories/${each.id}` })),
  },
  'create.strings-unchanged': {
    'white space around a name is removed': text('name', (full) => full.trim()),
    'names are stored in NFC': text('name', (full) => full.normalize('NFC')),
    'an empty description is dropped': store(({ description, ...rest }) =>
      description ? { ...rest, description } : rest,
    ),
  },
  'create.longest-strings': {
    'the length of a name is that of its UTF-16': refuse((sent) => `${sent.name}`.length > NAME_CHARACTERS_MAX),
    'a name is cut after 200 characters': text('name', cut(200)),
    'a description is cut after 1,000 characters': text('description', (full) => full.slice(0, 1_000)),
  },
  'create.same-name-twice': {
    'a name that a category has already is 409': {
      ...fail(
        {
          status: 201,
          path: PATH,
          when: ({ state, headers }, { body: made }) => {
            const isTaken = state.categories.filter((each) => each.name === membersOf(made).name).length > 1;
            if (isTaken && headers['idempotency-key'] === undefined) state.categories = state.categories.slice(0, -1);
            return isTaken && headers['idempotency-key'] === undefined;
          },
        },
        409,
        'catalog_full',
      ),
    },
  },
  'create.same-name-twice list.same-name-twice': {
    'a create of a name that exists answers with the first id': body(
      { ...CREATED, when: ({ headers }) => headers['idempotency-key'] === undefined },
      (made, { state }) => {
        const first = state.categories.find((each) => each.name === made.name);
        if (first && first.id !== made.id) state.categories = state.categories.slice(0, -1);
        return { ...made, id: first?.id };
      },
    ),
  },
  'create.location': {
    'the Location of a create is /categories/{id}': head(CREATED, 'location', (at) => at.replace('/v1', '')),
    'a category by its id is 404': fail({ ...ONE, method: 'GET' }, 404, 'not_found'),
    'a category by its id has another name': members(ONE, { name: 'Dog' }),
  },
  'create.ids-unique': {
    'each tenth category has the id of the one before': store((each) => ({
      ...each,
      id: Number(each.id) - (Number(each.id) % 10 ? 0 : 1),
    })),
    'the first category is twice in the list': list((all) => [...all.slice(0, 1), ...all]),
    'a description that begins with "The" is 400': refuse(({ description }) => `${description}`.startsWith('The ')),
  },
  'create.400-without-name': {
    'a create without a name is 200, with the error in the body': say(
      { status: 400, when: ({ text: sent }) => sent === '{}' },
      (answer) => {
        answer.status = 200;
      },
    ),
  },
  'create.400-invalid-values': {
    'a number as name becomes a string': name((sent) => (typeof sent === 'number' ? 'Conformance-1' : sent)),
    'null as name becomes a string': name((sent) => (sent === null ? 'Conformance-null' : sent)),
    'a boolean as name becomes a string': name((sent) => (sent === true ? 'Conformance-true' : sent)),
    'a list as name becomes a string': name((sent) => (Array.isArray(sent) ? 'Conformance-list' : sent)),
    'a number as description becomes a string': asText((sent) => typeof sent === 'number'),
    'a boolean as description becomes a string': asText((sent) => sent === true),
    'a list as description becomes a string': asText(Array.isArray),
    'an array of categories creates its first': accept(/^\[/),
    'a body of null creates': accept(/^null$/),
    'a body that is a text creates': accept(/^"/),
  },
  'create.400-null-description': {
    'a description of null is taken for none': take(({ description, ...rest }) =>
      description === null ? rest : { ...rest, description },
    ),
  },
  'create.400-bad-json': {
    'a body that lacks its last brace creates': accept(/^\{"name":"[^"]*"$/),
    'an empty body creates': accept(/^$/),
  },
  'create.400-lenient-json': {
    'a comma at the end of an object is passed over': accept(/,\}$/),
  },
  'create.400-empty-name': {
    'an empty name is taken for "Unnamed"': name((sent) => (sent === '' ? 'Conformance-unnamed' : sent)),
    'a name of white space is taken': name((sent) => (sent === ' \u3000' ? 'Conformance-white' : sent)),
  },
  'create.400-long-name': {
    'a name that is too long is cut to fit': name((sent) =>
      typeof sent === 'string' ? cut(NAME_CHARACTERS_MAX)(sent) : sent,
    ),
  },
  'create.400-control-characters': {
    'control characters in a name are dropped': name((sent) =>
      typeof sent === 'string' ? sent.replaceAll(/\p{Cc}/gu, '') : sent,
    ),
  },
  'create.415': {
    'a body is parsed whatever its media type': ask('content-type', () => 'application/json'),
  },
};

import {
  ask,
  body,
  bytes,
  fail,
  head,
  members,
  membersOf,
  name,
  type Row,
  refuse,
  say,
  status,
  store,
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
export const OF_CATEGORIES: readonly Row[] = [
  ['list.200-array', 'list-is-206: a list is 206', status(WHOLE, 206)],
  ['list.200-array', 'list-in-an-object: the list is a member of an object', body(WHOLE, (items) => ({ items }))],
  [
    'list.200-array',
    'list-cut-off: the list lacks its last bytes',
    bytes(WHOLE, (all) => JSON.stringify(all).slice(0, -2)),
  ],
  ['list.every-category', 'list-capped-at-20: the list ends after 20 categories', list((all) => all.slice(0, 20))],
  [
    'list.every-category http.pages',
    'list-of-the-newest: the list has the newest 15 categories',
    list((all) => all.slice(-15)),
  ],
  [
    'list.every-category',
    'list-drops-descriptions: the list has no descriptions',
    entry(({ id, name }) => ({ id, name })),
  ],
  [
    'list.every-category',
    'listed-names-escaped: the names of the list are escaped as HTML',
    entry((each) => ({ ...each, name: escaped(each.name) })),
  ],
  [
    'list.every-category',
    'beyond-ascii-not-listed: names beyond ASCII are left out of the list',
    list((all) => all.filter((each) => !/[^ -~]/.test(`${each.name}`))),
  ],
  [
    'list.every-category',
    'undescribed-not-listed: categories with an empty description are left out of the list',
    list((all) => all.filter(({ description }) => description !== '')),
  ],
  [
    'list.every-category create.ids-unique',
    'listed-under-other-ids: the ids of the list are larger by one',
    entry((each) => ({ ...each, id: Number(each.id) + 1 })),
  ],
  [
    'list.every-category',
    'names-mixed-up: each category is listed with the name of the next',
    list((all) => all.map((each, index) => ({ ...each, name: all[(index + 1) % all.length]?.name }))),
  ],
  [
    'list.every-category list.same-name-twice http.pages',
    'each-third-create-lost: each third category is never listed',
    body<readonly Category[]>(LIST, (all) => all.filter(({ id }) => Number(id) % 3 > 0)),
  ],
  [
    'list.same-name-twice',
    'name-listed-once: of several categories of one name the first is listed',
    list((all) => all.filter((each, index) => all.findIndex((other) => other.name === each.name) === index)),
  ],
  ['list.ascending', 'list-newest-first: the list is newest first', list((all) => all.toReversed())],
  ['create.201-new-id', 'create-is-200: a create is 200', status(CREATED, 200)],
  ['create.201-new-id', 'create-without-id: a create answers without the id', members(CREATED, { id: undefined })],
  [
    'create.id-integer',
    'created-id-is-a-string: the id of a create is a string, that of the list is not',
    body(CREATED, (made) => withTextId(made as never)),
  ],
  [
    'create.id-integer',
    'listed-id-is-a-string: the ids of the list are strings, that of a create is not',
    entry(withTextId),
  ],
  [
    'create.every-field',
    'description-dropped: the description is not stored',
    store(({ description, ...rest }) => (description === '' ? { ...rest, description } : rest)),
  ],
  [
    'create.every-field',
    'short-description-refused: a description of one to nine characters is 400',
    refuse(({ description }) => /^.{1,9}$/.test(`${description ?? ''}`)),
  ],
  [
    'create.every-field',
    'echo-in-lower-case: a create answers with its name in lower case',
    body(DESCRIBED, (made) => ({ ...made, name: `${made.name}`.toLowerCase() })),
  ],
  [
    'create.every-field',
    'han-letters-lost: Chinese letters become question marks',
    described((each) => ({ ...each, name: `${each.name}`.replaceAll(/\p{Script=Han}/gu, '?') })),
  ],
  [
    'create.every-field',
    'description-escaped: angle brackets in a description are escaped as HTML',
    text('description', (full) => full.replaceAll('<', '&lt;')),
  ],
  [
    'create.description-absent',
    'description-is-null: a category without a description has one of null',
    store(withNull),
  ],
  [
    'create.description-absent',
    'listed-description-is-null: the list has a description of null, a create has none',
    entry(withNull),
  ],
  [
    'create.id-by-service list.ascending',
    'id-of-the-client: an id in the body of a create is taken',
    store((each, { text: sent }) => ({ ...each, id: JSON.parse(sent).id ?? each.id })),
  ],
  ['create.refused-creates-nothing', 'refused-create-is-kept: a create that is 400 is stored', createAfter(400)],
  ['create.refused-creates-nothing', 'create-without-key-is-kept: a create that is 401 is stored', createAfter(401)],
  [
    'create.in-next-list',
    'list-late: the list misses a new category for a second',
    () => {
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
  ],
  [
    'create.only-these-members',
    'unknown-members-refused: an unknown member in a body is 400',
    refuse((sent) => 'extra' in sent),
  ],
  [
    'create.only-these-members',
    'created-with-a-date: a create answers with createdAt',
    members(CREATED, { createdAt: '2026-01-01T00:00:00Z' }),
  ],
  [
    'create.only-these-members',
    'listed-with-a-link: the categories of the list have a link',
    entry((each) => ({ ...each, href: `/v1/categories/${each.id}` })),
  ],
  [
    'create.strings-unchanged',
    'name-trimmed: white space around a name is removed',
    text('name', (full) => full.trim()),
  ],
  [
    'create.strings-unchanged',
    'name-normalized: names are stored in NFC',
    text('name', (full) => full.normalize('NFC')),
  ],
  [
    'create.strings-unchanged',
    'empty-description-dropped: an empty description is dropped',
    store(({ description, ...rest }) => (description ? { ...rest, description } : rest)),
  ],
  [
    'create.longest-strings',
    'lengths-in-utf-16: the length of a name is that of its UTF-16',
    refuse((sent) => `${sent.name}`.length > NAME_CHARACTERS_MAX),
  ],
  ['create.longest-strings', 'name-cut: a name is cut after 200 characters', text('name', cut(200))],
  [
    'create.longest-strings',
    'description-cut: a description is cut after 1,000 characters',
    text('description', (full) => full.slice(0, 1_000)),
  ],
  [
    'create.same-name-twice',
    'name-taken: a name that a category has already is 409',
    {
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
  ],
  [
    'create.same-name-twice list.same-name-twice',
    'same-name-same-id: a create of a name that exists answers with the first id',
    body({ ...CREATED, when: ({ headers }) => headers['idempotency-key'] === undefined }, (made, { state }) => {
      const first = state.categories.find((each) => each.name === made.name);
      if (first && first.id !== made.id) state.categories = state.categories.slice(0, -1);
      return { ...made, id: first?.id };
    }),
  ],
  [
    'create.location',
    'location-without-v1: the Location of a create is /categories/{id}',
    head(CREATED, 'location', (at) => at.replace('/v1', '')),
  ],
  [
    'create.location',
    'category-not-found: a category by its id is 404',
    fail({ ...ONE, method: 'GET' }, 404, 'not_found'),
  ],
  ['create.location', 'category-read-differs: a category by its id has another name', members(ONE, { name: 'Dog' })],
  [
    'create.ids-unique',
    'id-given-twice: each tenth category has the id of the one before',
    store((each) => ({ ...each, id: Number(each.id) - (Number(each.id) % 10 ? 0 : 1) })),
  ],
  [
    'create.ids-unique',
    'listed-twice: the first category is twice in the list',
    list((all) => [...all.slice(0, 1), ...all]),
  ],
  [
    'create.ids-unique',
    'plain-description-refused: a description that begins with "The" is 400',
    refuse(({ description }) => `${description}`.startsWith('The ')),
  ],
  [
    'create.400-without-name',
    'error-is-200: a create without a name is 200, with the error in the body',
    say({ status: 400, when: ({ text: sent }) => sent === '{}' }, (answer) => {
      answer.status = 200;
    }),
  ],
  [
    'create.400-invalid-values',
    'number-is-a-name: a number as name becomes a string',
    name((sent) => (typeof sent === 'number' ? 'Conformance-1' : sent)),
  ],
  [
    'create.400-invalid-values',
    'null-is-a-name: null as name becomes a string',
    name((sent) => (sent === null ? 'Conformance-null' : sent)),
  ],
  [
    'create.400-invalid-values',
    'list-is-a-description: a list as description becomes a string',
    take(({ description, ...rest }) => ({ ...rest, description: Array.isArray(description) ? 'a text' : description })),
  ],
  ['create.400-invalid-values', 'several-at-once: an array of categories creates its first', accept(/^\[/)],
  ['create.400-invalid-values', 'null-is-a-body: a body of null creates', accept(/^null$/)],
  ['create.400-invalid-values', 'text-is-a-body: a body that is a text creates', accept(/^"/)],
  [
    'create.400-null-description',
    'null-description-taken: a description of null is taken for none',
    take(({ description, ...rest }) => (description === null ? rest : { ...rest, description })),
  ],
  ['create.400-bad-json', 'cut-json-is-read: a body that lacks its last brace creates', accept(/^\{"name":"[^"]*"$/)],
  ['create.400-bad-json', 'empty-body-creates: an empty body creates', accept(/^$/)],
  ['create.400-lenient-json', 'trailing-comma-taken: a comma at the end of an object is passed over', accept(/,\}$/)],
  [
    'create.400-empty-name',
    'empty-name: an empty name is taken for "Unnamed"',
    name((sent) => (sent === '' ? 'Conformance-unnamed' : sent)),
  ],
  [
    'create.400-empty-name',
    'white-name: a name of white space is taken',
    name((sent) => (sent === ' \u3000' ? 'Conformance-white' : sent)),
  ],
  [
    'create.400-long-name',
    'long-name-taken: a name that is too long is cut to fit',
    name((sent) => (typeof sent === 'string' ? cut(NAME_CHARACTERS_MAX)(sent) : sent)),
  ],
  [
    'create.400-control-characters',
    'control-characters-dropped: control characters in a name are dropped',
    name((sent) => (typeof sent === 'string' ? sent.replaceAll(/\p{Cc}/gu, '') : sent)),
  ],
  [
    'create.415',
    'lenient-media-type: a body is parsed whatever its media type',
    ask('content-type', () => 'application/json'),
  ],
];

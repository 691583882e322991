import { bodyOf, type Exchange, membersOf, Skipped } from '../../trial/exchange.ts';
import { type Category, isInt64, type Listing } from '../../trial/list-reader.ts';
import {
  answersTo,
  each,
  expect,
  expectStatus,
  expectSuccess,
  given,
  ours,
  published,
  type RuleTable,
  statuses,
} from '../../trial/rule.ts';
import { creating } from '../../trial/trial.ts';
import {
  badJson,
  CLIENTS_ID,
  create,
  createCrowd,
  createDescribed,
  createdOf,
  createTwice,
  createUnicode,
  createWithId,
  invalidValues,
  isUnusual,
  list,
  listOf,
  withNumberAsName,
  withoutKey,
  withoutName,
  withUnknownKey,
  wrongMediaType,
} from '../probes.ts';

const LISTED = published(
  'List categories, rule 1',
  'When the caller is authenticated, the response is 200 with an array of every available category.',
);
const CATEGORY = published(
  'Category',
  'Category: every field of NewCategory, plus id: integer, int64, unique, assigned by the service.',
);
const INVALID = published(
  'Create a category, rule 2',
  'When the body lacks a required field (name) or contains invalid values, the response is 400 with an Error body.',
);
/** The time that a list may take to have what was created elsewhere. */
const LISTED_SECONDS = 3;

/** Rules of the list, and of what a create answers or refuses. */
export const CATEGORIES: RuleTable = {
  'list.200-array': {
    ...LISTED,
    expected: '200 with a JSON array of objects that have a name',
    judge: each([list], (listed) => {
      expectStatus(listed, 200);
      const fault = listed.list?.fault;
      expect(fault === undefined, fault ?? '', listed);
    }),
  },
  'create.201-new-id': {
    ...published(
      'Create a category, rule 1',
      'When the body is valid, the response is 201 with a Category that carries a newly assigned id.',
    ),
    expected: '201 with a category that has an id',
    judge: each([create], (created) => {
      expectStatus(created, 201);
      expect(bodyOf(created).id !== undefined, 'the body has no id', created);
    }),
  },
  'create.id-integer': {
    ...CATEGORY,
    expected: 'an id that is a JSON integer of 64 bits, in the answer to a create and in the list',
    judge: given(create, async (created, trial) => {
      expect(isInt64(createdOf(created).id), 'the id of a create is no integer of 64 bits', created);
      expectNone('id-no-int64', await trial.once(list), 'an id in the list is no integer of 64 bits');
    }),
  },
  'create.every-field': {
    ...published('Category', 'A Category has every field of NewCategory.'),
    expected: 'name and description as they were sent',
    judge: given(createDescribed, async (created, trial) => {
      expectSuccess(created);
      expectEchoed(created, 'the name differs', 'the description differs');
      const unicode = await trial.once(createUnicode);
      // A server may refuse letters of its choice, but not change them.
      if (unicode.status >= 300) return;
      expectEchoed(unicode, 'letters that are not ASCII differ', 'quotes or angle brackets differ');
    }),
  },
  'create.description-absent': {
    ...published('NewCategory', 'description: string, not required.'),
    expected: 'a string or no description at all, in the answer to a create without one and in the list',
    judge: given(create, async (created, trial) => {
      const { description = '' } = createdOf(created);
      expect(typeof description === 'string', 'the description of a create is no string', created);
      expectNone('description-no-string', await trial.once(list), 'a description in the list is no string');
    }),
  },
  'create.id-by-service': {
    ...CATEGORY,
    expected: `another id than that of the body, ${CLIENTS_ID}`,
    judge: each([createWithId], (created) => {
      if (created.status === 400) return;
      expect(`${createdOf(created).id}` !== `${CLIENTS_ID}`, "the client's id was taken", created);
    }),
  },
  'create.refused-creates-nothing': {
    ...published(
      'Create a category, rules 2 and 3',
      'When the body is invalid, the response is 400; when the key is missing or invalid, it is 401.',
    ),
    expected: 'a list without the names of creates that were refused with 400 or 401',
    async judge(trial) {
      const answers = await answersTo(trial, [withoutKey, withUnknownKey, invalidValues, badJson]);
      const names = new Set(listOf(await trial.send()).items.map(({ name }) => name));
      for (const exchange of answers) {
        const { status } = exchange;
        if (exchange.sent.method !== 'POST' || (status !== 400 && status !== 401)) continue;
        const sent = /"name":"([^"]+)"/.exec(exchange.sent.body ?? '')?.[1];
        expect(!names.has(sent), `a create was answered with ${status} and is in the list`, exchange);
      }
    },
  },
  'create.in-next-list': {
    ...ours('wire.md, Categories', 'A create is in the next list of the same instance.'),
    expected: 'the created category in the list that is asked for next, on the same connection',
    async judge(trial) {
      const created = await trial.post({ name: trial.newName() });
      const { id } = createdOf(created);
      const listed = await trial.send();
      if (listOf(listed).ids.has(id as number)) return;
      await trial.wait(LISTED_SECONDS, 'a category is not in the list yet');
      const isListed = listOf(await trial.send()).ids.has(id as number);
      if (!isListed) throw new Skipped('it is never listed, which list.every-category judges');
      expect(false, 'the new category is listed later only', created, listed);
    },
  },
  'create.only-these-members': {
    ...ours(
      'wire.md, Categories',
      "Unknown members, a client's id among them, are ignored; a Category has no further members.",
    ),
    expected: '201 with id and name alone',
    judge: given(createWithId, async (created, trial) => {
      expectSuccess(created);
      // A description of null is another rule's matter.
      const members = Object.keys(createdOf(created)).filter((name) => name !== 'description');
      expect(members.sort().join() === 'id,name', 'a create answers with other members', created);
      expectNone('further-member', await trial.once(list), 'a category in the list has other members');
    }),
  },
  'create.strings-unchanged': {
    ...ours(
      'wire.md, Categories',
      'Strings are stored and echoed unchanged: no trimming, no normalisation; "" as description is kept.',
    ),
    expected: 'the same code points, spaces at the end among them',
    async judge(trial) {
      const created = await trial.post({ name: `${trial.newName()} e\u0301 🐕  `, description: '' });
      expectEchoed(created, 'the name differs', 'an empty description differs');
    },
  },
  'create.longest-strings': {
    ...ours('wire.md, Categories', 'name: 1–255 code points; description: 0–2,000, tab, LF and CR among them.'),
    expected: '201 for 255 and 2,000 code points, beyond the Basic Multilingual Plane too',
    async judge(trial) {
      const name = trial.newName();
      const sent = { name: name + '🐕'.repeat(255 - name.length), description: '\t\r\n🐕'.repeat(500) };
      const created = await trial.post(sent);
      expectSuccess(created);
      const { name: echoed, description } = createdOf(created);
      expect(echoed === sent.name, 'the name differs', created);
      // One that is dropped is another rule's matter.
      if (description !== undefined) expect(description === sent.description, 'the description differs', created);
    },
  },
  'create.same-name-twice': {
    ...ours('wire.md, Categories', 'The same name twice is two categories: the body is valid, so the answer is 201.'),
    expected: '201 with another id',
    judge: given(create, async (first, trial) => {
      const second = await trial.post(first.sent.body ?? '');
      expectSuccess(second);
      expect(createdOf(second).id !== createdOf(first).id, 'the ids are the same', first, second);
    }),
  },
  'create.location': {
    ...ours('wire.md, Categories', 'The answer to a create has Location: /v1/categories/{id}.'),
    expected: 'a Location at which the category is, under the base address',
    judge: given(create, async (created, trial) => {
      const { id } = createdOf(created);
      const location = created.headers.get('location') ?? '';
      const wanted = trial.client.addressOf(`/categories/${id}`);
      expect(
        wanted.endsWith(location) && location.endsWith(`/v1/categories/${id}`),
        'the Location is another',
        created,
      );
      const read = await trial.send({ path: `/categories/${id}` });
      expectStatus(read, 200);
      expect(asText(bodyOf(read)) === asText(createdOf(created)), 'the category differs', read);
    }),
  },
  'list.ascending': {
    ...ours('wire.md, Categories', 'The list is in ascending order of id.'),
    expected: 'ids in ascending order',
    async judge(trial) {
      await trial.once(createCrowd);
      expectNone('not-ascending', await trial.send(), 'the ids are not ascending');
    },
  },
  'create.ids-unique': {
    ...CATEGORY,
    expected: 'another id for each of several creates at once, none of them in the list before',
    judge: given(createCrowd, ({ before, creates }) => {
      expectNone('id-twice', before, 'an id is twice in the list');
      const seen = new Map<unknown, Exchange>();
      const { ids } = listOf(before);
      for (const created of creates) {
        if (created.status === 400 && isUnusual(created)) continue;
        expect(created.status !== 400, 'a valid body is refused', created);
        const { id } = createdOf(created);
        const twin = seen.get(id) ?? (ids.has(id as number) ? before : undefined);
        if (twin) expect(false, `the id ${id} was given twice`, twin, created);
        seen.set(id, created);
      }
    }),
  },
  'list.every-category': {
    ...LISTED,
    expected: `a list of more than 20 that has all that were there and all that were created, within ${LISTED_SECONDS} s`,
    judge: given(createCrowd, async ({ before, creates }, trial) => {
      for (let second = 0; ; second += 1) {
        const listed = await trial.send();
        const { items, ids, count } = listOf(listed);
        // Of a long list only the beginning is kept, and that may move.
        const first = items.length === count ? listOf(before).items : [];
        const made = creates.filter((created) => created.status !== 400);
        const wanted = [...first, ...made.map(asSent)].map(asText);
        const found = new Set(items.map(asText));
        const missing = [...wanted.filter((each) => !found.has(each)), ...listOf(before).ids.difference(ids)];
        if (missing.length === 0) return;
        const seen = `${missing.length} categories are missing in the list or differ there, among them ${missing[0]}`;
        expect(second < LISTED_SECONDS, seen, listed);
        await trial.wait(1, 'a category is not in the list yet');
      }
    }),
  },
  'list.same-name-twice': {
    ...LISTED,
    expected: 'two categories of one name in the list, if both were created',
    judge: given(createTwice, async (creates, trial) => {
      const [first, second] = creates;
      // A server may refuse a name that is taken.
      if (second.status === 400 || second.status === 409) return;
      createdOf(second);
      for (let waited = 0; ; waited += 1) {
        const listed = await trial.send();
        const named = listOf(listed).items.filter(({ name }) => name === asSent(first).name);
        if (named.length !== 1) return;
        expect(waited < LISTED_SECONDS, 'a name that was created twice is listed once', second, listed);
        await trial.wait(1, 'a category is not in the list yet');
      }
    }),
  },
  'create.400-without-name': {
    ...INVALID,
    expected: '400 for {}',
    judge: statuses(400, withoutName),
  },
  'create.400-invalid-values': {
    ...INVALID,
    expected: '400 for a name or a description that is no string, and for a body that is no object',
    judge: statuses(400, withNumberAsName, invalidValues),
  },
  'create.400-null-description': {
    ...ours('wire.md, Categories', 'description: string; null is not a string.'),
    expected: '400 for a description of null',
    judge: statuses(400, (trial) => trial.post({ name: trial.newName(), description: null })),
  },
  'create.400-bad-json': {
    ...INVALID,
    expected: '400 for a body that is no JSON, and for an empty one',
    judge: statuses(400, badJson),
  },
  'create.400-lenient-json': {
    ...ours('RFC 8259, section 2', 'A body is strict JSON.'),
    expected: '400 for a comma at the end',
    judge: statuses(400, (trial) => trial.post(`{"name":"${trial.newName()}",}`)),
  },
  'create.400-empty-name': {
    ...ours('wire.md, Categories', 'name: 1–255 code points, at least one of them not white space.'),
    expected: '400 for a name that is empty, and for one of white space',
    judge: statuses(400, creating({ name: '' }), creating({ name: ' \u3000' })),
  },
  'create.400-long-name': {
    ...ours('wire.md, Categories', 'name: 1–255 code points.'),
    expected: '400 for a name of 256 code points',
    judge: statuses(400, creating({ name: 'Conformance-'.padEnd(256, 'x') })),
  },
  'create.400-control-characters': {
    ...ours(
      'wire.md, Categories',
      'No NUL, no lone surrogate, no other C0 control character than tab, LF and CR (in description only).',
    ),
    expected: '400 for a NUL and for a line feed in a name',
    judge: statuses(400, creating({ name: 'Conformance-\u0000' }), creating({ name: 'Conformance-\n' })),
  },
  'create.415': {
    ...ours(
      'wire.md, Categories',
      "A request body's media type: application/json, or none at all; anything else is 415.",
    ),
    expected: '415 for text/plain',
    judge: statuses(415, wrongMediaType),
  },
};

/** Throws `Broken` unless a create answers with the name and the description that were sent. */
function expectEchoed(created: Exchange, nameDiffers: string, descriptionDiffers: string): void {
  const { name, description } = createdOf(created);
  const sent = JSON.parse(created.sent.body ?? '');
  expect(name === sent.name, nameDiffers, created);
  expect(description === sent.description, descriptionDiffers, created);
}

function expectNone(oddity: keyof Listing['odd'], listed: Exchange, seen: string): void {
  const odd = listOf(listed).odd[oddity];
  expect(odd === undefined, `${seen}: ${asText(odd ?? {})}`, listed);
}

/** The category of a create under the name that was sent: an answer may be any category. */
function asSent(created: Exchange): Category {
  return { ...createdOf(created), name: membersOf(JSON.parse(created.sent.body ?? '')).name };
}

/** The fields that a category has everywhere; that a description is null is a rule of its own. */
function asText({ id, name, description }: Category): string {
  return JSON.stringify({ id: `${id}`, name, description: description ?? undefined });
}

import { type Exchange, jsonOf, membersOf } from '../exchange.ts';
import { create, createCrowd, createDescribed, createdOf, itemsOf, list } from '../probes.ts';
import { expect, expectStatus, type Rule, Skipped } from '../rule.ts';
import type { Trial } from '../trial.ts';

const NEW_ID = 'When the body is valid, the response is 201 with a Category that carries a newly assigned id.';
const CATEGORY = 'Category: every field of NewCategory, plus id: integer, int64, unique, assigned by the service.';
/** Larger than any id that a service has assigned. */
const CLIENTS_ID = 9_007_199_254_740_881;
/** How long a list may take to have what was created elsewhere. */
const LISTED_SECONDS = 3;

/** Rules of the list, and of what a create answers. */
export const CATEGORIES: readonly Rule[] = [
  {
    id: 'list.200-array',
    level: 'published',
    sentence: 'When the caller is authenticated, the response is 200 with an array of every available category.',
    expected: '200 with a JSON array of objects that have a name',
    brokenBy: 'an object around the array',
    async judge(trial) {
      const listed = await trial.once(list);
      expectStatus(listed, 200);
      expect(Array.isArray(jsonOf(listed.answer)), 'the body is no array', listed);
      expect(
        itemsOf(listed).every(({ id, name }) => id !== undefined && typeof name === 'string'),
        'an item is no category',
        listed,
      );
    },
  },
  {
    id: 'create.201-new-id',
    level: 'published',
    sentence: NEW_ID,
    expected: '201 with a category that has an id',
    brokenBy: 'a 200, or a body without id',
    async judge(trial) {
      const created = await trial.once(create);
      expectStatus(created, 201);
      expect(membersOf(jsonOf(created.answer)).id !== undefined, 'the body has no id', created);
    },
  },
  {
    id: 'create.id-integer',
    level: 'published',
    sentence: CATEGORY,
    expected: 'an id that is a JSON integer, in the answer to a create and in the list',
    brokenBy: 'an id as a string',
    async judge(trial) {
      const created = await trial.once(create);
      expect(isInteger(createdOf(created).id), 'the id is no integer', created);
      const listed = await trial.once(list);
      expect(
        itemsOf(listed).every(({ id }) => isInteger(id)),
        'the id is no integer',
        listed,
      );
    },
  },
  {
    id: 'create.every-field',
    level: 'published',
    sentence: 'A Category has every field of NewCategory.',
    expected: 'name and description as they were sent',
    brokenBy: 'a description that is dropped',
    async judge(trial) {
      const created = await trial.once(createDescribed);
      const { name, description } = createdOf(created);
      const sent = JSON.parse(created.sent.body ?? '{}');
      expect(name === sent.name && description === sent.description, 'a field differs', created);
    },
  },
  {
    id: 'create.description-absent',
    level: 'published',
    sentence: 'description: string, not required.',
    expected: 'a string or no description at all, in the answer to a create without one and in the list',
    brokenBy: 'a description of null',
    async judge(trial) {
      const created = await trial.once(create);
      const isString = ({ description = '' }: Readonly<Record<string, unknown>>) => typeof description === 'string';
      expect(isString(createdOf(created)), 'the description is no string', created);
      const listed = await trial.once(list);
      expect(itemsOf(listed).every(isString), 'the description is no string', listed);
    },
  },
  {
    id: 'create.id-by-service',
    level: 'published',
    sentence: CATEGORY,
    expected: `another id than that of the body, ${CLIENTS_ID}`,
    brokenBy: "the client's id taken",
    async judge(trial) {
      const created = await trial.once(createWithId);
      if (created.answer.status === 400) return;
      expect(`${createdOf(created).id}` !== `${CLIENTS_ID}`, "the client's id was taken", created);
    },
  },
  {
    id: 'create.in-next-list',
    level: 'ours',
    sentence: 'A create is in the next list of the same instance.',
    expected: 'the created category in the list that is asked for next, on the same connection',
    brokenBy: 'a list that misses the newest for a second',
    async judge(trial) {
      const created = await trial.post({ name: trial.newName() });
      const listed = await trial.send();
      const wanted = asText(createdOf(created));
      expect(itemsOf(listed).map(asText).includes(wanted), `${wanted} is missing`, created, listed);
    },
  },
  {
    id: 'create.only-these-members',
    level: 'ours',
    sentence: "Unknown members, a client's id among them, are ignored; a Category has no further members.",
    expected: '201 with id and name alone',
    brokenBy: 'members that are stored as they came',
    async judge(trial) {
      const created = await trial.once(createWithId);
      expectCreated(created);
      // A description of null is another rule's matter.
      const members = Object.keys(createdOf(created)).filter((name) => name !== 'description');
      expect(members.sort().join() === 'id,name', 'there are other members', created);
    },
  },
  {
    id: 'create.strings-unchanged',
    level: 'ours',
    sentence: 'Strings are stored and echoed unchanged: no trimming, no normalisation; "" as description is kept.',
    expected: 'the same code points, spaces at the end among them',
    brokenBy: 'a name that is trimmed',
    async judge(trial) {
      const sent = { name: `${trial.newName()} e\u0301 🐕  `, description: '' };
      const created = await trial.post(sent);
      const { name, description } = createdOf(created);
      expect(name === sent.name && description === sent.description, 'a string differs', created);
    },
  },
  {
    id: 'create.longest-strings',
    level: 'ours',
    sentence: 'name: 1–255 code points; description: 0–2,000, tab, LF and CR among them.',
    expected: '201 for 255 and 2,000 code points, beyond the Basic Multilingual Plane too',
    brokenBy: 'lengths in UTF-16 units or bytes',
    async judge(trial) {
      const name = trial.newName();
      const sent = { name: name + '🐕'.repeat(255 - name.length), description: '\t\r\n🐕'.repeat(500) };
      const created = await trial.post(sent);
      expectCreated(created);
      expect(createdOf(created).name === sent.name, 'the name differs', created);
    },
  },
  {
    id: 'create.same-name-twice',
    level: 'ours',
    sentence: 'The same name twice is two categories: the body is valid, so the answer is 201.',
    expected: '201 with another id',
    brokenBy: 'a 409',
    async judge(trial) {
      const first = await trial.once(create);
      const second = await trial.post(first.sent.body ?? '');
      expectCreated(second);
      expect(createdOf(second).id !== createdOf(first).id, 'the ids are the same', first, second);
    },
  },
  {
    id: 'create.location',
    level: 'ours',
    sentence: 'The answer to a create has Location: /v1/categories/{id}.',
    expected: 'a Location at which the category is, under the base address',
    brokenBy: 'a Location without /v1',
    async judge(trial) {
      const created = await trial.once(create);
      const { id } = createdOf(created);
      const location = created.answer.headers.get('location') ?? '';
      const wanted = trial.addressOf(`/categories/${id}`);
      expect(
        wanted.endsWith(location) && location.endsWith(`/v1/categories/${id}`),
        'the Location is another',
        created,
      );
      const read = await trial.send({ path: `/categories/${id}` });
      expectStatus(read, 200);
      expect(asText(membersOf(jsonOf(read.answer))) === asText(createdOf(created)), 'the category differs', read);
    },
  },
  {
    id: 'list.ascending',
    level: 'ours',
    sentence: 'The list is in ascending order of id.',
    expected: 'ids in ascending order',
    brokenBy: 'the newest first',
    async judge(trial) {
      const listed = await trial.once(list);
      const ids = itemsOf(listed).map(({ id }) => Number(id));
      expect(
        ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)),
        'the ids are not ascending',
        listed,
      );
    },
  },
  {
    id: 'create.ids-unique',
    level: 'published',
    sentence: CATEGORY,
    expected: 'another id for each of several creates at once, none of them in the list before',
    brokenBy: 'an id given twice',
    async judge(trial) {
      const { before, creates } = await trial.once(createCrowd);
      const seen = new Map(itemsOf(before).map(({ id }) => [`${id}`, before]));
      for (const created of creates) {
        const id = `${createdOf(created).id}`;
        const twin = seen.get(id);
        if (twin) expect(false, `the id ${id} was given twice`, twin, created);
        seen.set(id, created);
      }
    },
  },
  {
    id: 'list.every-category',
    level: 'published',
    sentence: 'When the caller is authenticated, the response is 200 with an array of every available category.',
    expected: `a list of more than 20 that has all that were there and all that were created, within ${LISTED_SECONDS} s`,
    brokenBy: 'a list capped at 20',
    async judge(trial) {
      const { before, creates } = await trial.once(createCrowd);
      const wanted = [...itemsOf(before), ...creates.map(asSent)].map(asText);
      for (let second = 0; ; second += 1) {
        const listed = await trial.send();
        const found = new Set(itemsOf(listed).map(asText));
        const missing = wanted.filter((each) => !found.has(each));
        if (missing.length === 0) return;
        const seen = `${missing.length} of ${wanted.length} categories are missing, among them ${missing[0]}`;
        expect(second < LISTED_SECONDS, seen, listed);
        await trial.wait(1, 'a category is not in the list yet');
      }
    },
  },
];

const createWithId = (trial: Trial): Promise<Exchange> =>
  trial.post({ name: trial.newName(), id: CLIENTS_ID, extra: [] });

/** That it is 201, and not another success, is a rule of its own. */
function expectCreated(exchange: Exchange): void {
  expect(exchange.answer.status < 300, `the status is ${exchange.answer.status}`, exchange);
}

/** The category of a create under the name that was sent: an answer may be any category. */
function asSent(created: Exchange): Readonly<Record<string, unknown>> {
  return { ...createdOf(created), name: membersOf(JSON.parse(created.sent.body ?? '')).name };
}

function isInteger(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** The fields that a category has everywhere. */
function asText({ id, name, description }: Readonly<Record<string, unknown>>): string {
  if (id === undefined) throw new Skipped('a category has no id');
  return JSON.stringify({ id: `${id}`, name, description });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Between, CatalogModel } from './catalog.ts';
import { Broken } from './promise.ts';

const DAY_SECONDS = 86_400;
const NAME = 'category 1';

/** A process answers an attempt, which it was asked at the first second of its clock and answers at the second one. */
const answer = (model: CatalogModel, id: number, when: Between, isReplay = false) => {
  model.begin(NAME);
  model.stored(NAME, { id, isReplay }, when);
};
const at = (second: number): Between => ({ least: second, most: second });

test('a replay by a process whose clock is behind does not tell when the create was stored', () => {
  const model = new CatalogModel();
  answer(model, 1, { least: 10, most: 100 });
  answer(model, 1, at(-5_000), true);
  answer(model, 1, at(DAY_SECONDS + 50), true);
  assert.throws(() => answer(model, 1, at(DAY_SECONDS + 100), true), Broken);
});

test('a create that took long may be stored as another, although a clock that is behind replays that one', () => {
  const model = new CatalogModel();
  answer(model, 1, at(0));
  answer(model, 2, { least: 100, most: DAY_SECONDS });
  answer(model, 2, at(DAY_SECONDS - 5_000), true);
});

test('within a day a create is not stored as another, whether a replay or the table tells of it', () => {
  const twice = new CatalogModel();
  answer(twice, 1, at(0));
  assert.throws(() => answer(twice, 2, at(DAY_SECONDS - 1)), Broken);

  const early = new CatalogModel();
  answer(early, 1, at(0));
  answer(early, 1, at(-5_000), true);
  assert.throws(() => answer(early, 2, at(DAY_SECONDS - 1)), Broken);

  const replayed = new CatalogModel();
  answer(replayed, 1, at(0));
  replayed.begin(NAME);
  replayed.failed(NAME, { isUnknown: true }, at(DAY_SECONDS - 1));
  assert.throws(() => answer(replayed, 2, at(20), true), Broken);

  const listed = new CatalogModel();
  answer(listed, 1, at(0));
  listed.begin(NAME);
  const rows = [1, 2].map((id) => ({ id, name: NAME }));
  listed.checkTable(rows, 0);
  listed.failed(NAME, { isUnknown: true }, at(DAY_SECONDS - 1));
  assert.throws(() => listed.checkTable(rows, 1), Broken);
});

test('what is under way may be stored at any time', () => {
  const model = new CatalogModel();
  answer(model, 1, at(0));
  model.begin(NAME);
  answer(model, 2, at(20), true);
  model.stored(NAME, { id: 2, isReplay: false }, at(DAY_SECONDS));
});

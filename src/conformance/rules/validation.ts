import { badJson, invalidValues, withNumberAsName, withoutName, wrongMediaType } from '../probes.ts';
import { expectStatus, type Rule } from '../rule.ts';
import type { Trial } from '../trial.ts';

const INVALID =
  'When the body lacks a required field (name) or contains invalid values, the response is 400 with an Error body.';

/** Rules of creates that are refused. */
export const VALIDATION: readonly Rule[] = [
  {
    id: 'create.400-without-name',
    level: 'published',
    sentence: INVALID,
    source: 'Create a category, rule 2',
    expected: '400 for {}',
    async judge(trial) {
      expectStatus(await trial.once(withoutName), 400);
    },
  },
  {
    id: 'create.400-invalid-values',
    level: 'published',
    sentence: INVALID,
    source: 'Create a category, rule 2',
    expected: '400 for a name or a description that is no string, and for a body that is no object',
    async judge(trial) {
      expectStatus(await trial.once(withNumberAsName), 400);
      for (const exchange of await trial.once(invalidValues)) expectStatus(exchange, 400);
    },
  },
  {
    id: 'create.400-null-description',
    level: 'ours',
    sentence: 'description: string; null is not a string.',
    source: 'wire.md, Categories',
    expected: '400 for a description of null',
    async judge(trial) {
      expectStatus(await trial.post({ name: trial.newName(), description: null }), 400);
    },
  },
  {
    id: 'create.400-bad-json',
    level: 'published',
    sentence: INVALID,
    source: 'Create a category, rule 2',
    expected: '400 for a body that is no JSON, and for an empty one',
    async judge(trial) {
      for (const exchange of await trial.once(badJson)) expectStatus(exchange, 400);
    },
  },
  {
    id: 'create.400-lenient-json',
    level: 'ours',
    sentence: 'A body is strict JSON.',
    source: 'RFC 8259, section 2',
    expected: '400 for a comma at the end',
    async judge(trial) {
      expectStatus(await trial.post(`{"name":"${trial.newName()}",}`), 400);
    },
  },
  {
    id: 'create.400-empty-name',
    level: 'ours',
    sentence: 'name: 1–255 code points, at least one of them not white space.',
    source: 'wire.md, Categories',
    expected: '400 for a name that is empty, and for one of white space',
    judge: (trial) => expectInvalid(trial, ['', ' \u3000']),
  },
  {
    id: 'create.400-long-name',
    level: 'ours',
    sentence: 'name: 1–255 code points.',
    source: 'wire.md, Categories',
    expected: '400 for a name of 256 code points',
    judge: (trial) => expectInvalid(trial, ['conformance-'.padEnd(256, 'x')]),
  },
  {
    id: 'create.400-control-characters',
    level: 'ours',
    sentence: 'No NUL, no lone surrogate, no other C0 control character than tab, LF and CR (in description only).',
    source: 'wire.md, Categories',
    expected: '400 for a NUL and for a line feed in a name',
    judge: (trial) => expectInvalid(trial, ['conformance-\u0000', 'conformance-\n']),
  },
  {
    id: 'create.415',
    level: 'ours',
    sentence: "A request body's media type: application/json, or none at all; anything else is 415.",
    source: 'wire.md, Categories',
    expected: '415 for text/plain',
    async judge(trial) {
      expectStatus(await trial.once(wrongMediaType), 415);
    },
  },
];

async function expectInvalid(trial: Trial, names: readonly string[]): Promise<void> {
  for (const name of names) expectStatus(await trial.post({ name }), 400);
}

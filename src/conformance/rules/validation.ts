import { badJson, invalidValues, withNumberAsName, withoutName, wrongMediaType } from '../probes.ts';
import { expectStatus, ours, published, type RuleTable, statuses } from '../rule.ts';
import type { Trial } from '../trial.ts';

const INVALID = published(
  'Create a category, rule 2',
  'When the body lacks a required field (name) or contains invalid values, the response is 400 with an Error body.',
);

export const VALIDATION: RuleTable = {
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
    async judge(trial) {
      expectStatus(await trial.post({ name: trial.newName(), description: null }), 400);
    },
  },
  'create.400-bad-json': {
    ...INVALID,
    expected: '400 for a body that is no JSON, and for an empty one',
    judge: statuses(400, badJson),
  },
  'create.400-lenient-json': {
    ...ours('RFC 8259, section 2', 'A body is strict JSON.'),
    expected: '400 for a comma at the end',
    async judge(trial) {
      expectStatus(await trial.post(`{"name":"${trial.newName()}",}`), 400);
    },
  },
  'create.400-empty-name': {
    ...ours('wire.md, Categories', 'name: 1–255 code points, at least one of them not white space.'),
    expected: '400 for a name that is empty, and for one of white space',
    judge: (trial) => expectInvalid(trial, ['', ' \u3000']),
  },
  'create.400-long-name': {
    ...ours('wire.md, Categories', 'name: 1–255 code points.'),
    expected: '400 for a name of 256 code points',
    judge: (trial) => expectInvalid(trial, ['conformance-'.padEnd(256, 'x')]),
  },
  'create.400-control-characters': {
    ...ours(
      'wire.md, Categories',
      'No NUL, no lone surrogate, no other C0 control character than tab, LF and CR (in description only).',
    ),
    expected: '400 for a NUL and for a line feed in a name',
    judge: (trial) => expectInvalid(trial, ['conformance-\u0000', 'conformance-\n']),
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

async function expectInvalid(trial: Trial, names: readonly string[]): Promise<void> {
  for (const name of names) expectStatus(await trial.post({ name }), 400);
}

import { withNumberAsName, withoutName, wrongMediaType } from '../probes.ts';
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
    expected: '400 for {}',
    brokenBy: 'a 200 with an error in its body',
    async judge(trial) {
      expectStatus(await trial.once(withoutName), 400);
    },
  },
  {
    id: 'create.400-invalid-values',
    level: 'published',
    sentence: INVALID,
    expected: '400 for a name or a description that is no string, and for a body that is no object',
    brokenBy: 'a number that becomes a string',
    async judge(trial) {
      expectStatus(await trial.once(withNumberAsName), 400);
      for (const body of [{ description: 7 }, { description: null }]) {
        expectStatus(await trial.post({ name: trial.newName(), ...body }), 400);
      }
      expectStatus(await trial.post([{ name: trial.newName() }]), 400);
    },
  },
  {
    id: 'create.400-bad-json',
    level: 'published',
    sentence: INVALID,
    expected: '400 for a body that is no JSON, and for an empty one',
    brokenBy: 'a 500 for a body that cannot be parsed',
    async judge(trial) {
      for (const body of ['{"name":', '']) expectStatus(await trial.post(body), 400);
    },
  },
  {
    id: 'create.400-lenient-json',
    level: 'ours',
    sentence: 'A body is strict JSON.',
    expected: '400 for a comma at the end',
    brokenBy: 'a parser of JSON5',
    async judge(trial) {
      expectStatus(await trial.post(`{"name":"${trial.newName()}",}`), 400);
    },
  },
  {
    id: 'create.400-empty-name',
    level: 'ours',
    sentence: 'name: 1–255 code points, at least one of them not white space.',
    expected: '400 for a name that is empty, and for one of white space',
    brokenBy: 'a name that is only required',
    judge: (trial) => expectInvalid(trial, ['', ' \u3000']),
  },
  {
    id: 'create.400-long-name',
    level: 'ours',
    sentence: 'name: 1–255 code points.',
    expected: '400 for a name of 256 code points',
    brokenBy: 'a name that is cut to fit',
    judge: (trial) => expectInvalid(trial, ['conformance-'.padEnd(256, 'x')]),
  },
  {
    id: 'create.400-control-characters',
    level: 'ours',
    sentence: 'No NUL, no lone surrogate, no other C0 control character than tab, LF and CR (in description only).',
    expected: '400 for a NUL and for a line feed in a name',
    brokenBy: 'a NUL that reaches the database',
    judge: (trial) => expectInvalid(trial, ['conformance-\u0000', 'conformance-\n']),
  },
  {
    id: 'create.415',
    level: 'ours',
    sentence: "A request body's media type: application/json, or none at all; anything else is 415.",
    expected: '415 for text/plain',
    brokenBy: 'a body that is parsed whatever its media type',
    async judge(trial) {
      expectStatus(await trial.once(wrongMediaType), 415);
    },
  },
];

async function expectInvalid(trial: Trial, names: readonly string[]): Promise<void> {
  for (const name of names) expectStatus(await trial.post({ name }), 400);
}

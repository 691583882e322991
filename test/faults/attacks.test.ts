import { test } from 'node:test';
import { ATTACKS, assertEndured } from './attacks.ts';

test('attacks of each kind at once do not end the service, nor take more than its memory', (t) =>
  assertEndured(
    ATTACKS.map(([, manner]) => manner),
    t,
  ));

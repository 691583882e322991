import { test } from 'node:test';
import { ATTACKS, assertEndured } from '../kit/faults/attacks.ts';

test('attacks of each kind at once neither end nor stall the service', (t) =>
  assertEndured(
    ATTACKS.map(([, manner]) => manner),
    t,
  ));

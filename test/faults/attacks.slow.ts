import { test } from 'node:test';
import { ATTACKS, assertEndured } from './attacks.ts';

for (const [what, manner] of ATTACKS) {
  test(`${what} alone neither end nor stall the service`, (t) => assertEndured([manner], t));
}

import { test } from 'node:test';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { ATTACKS, assertEndured } from './attacks.ts';

for (const [what, manner] of ATTACKS) {
  test(`${what} alone neither end nor stall the service`, (t) => assertEndured([manner], t));
}

test(
  'attacks of each kind at once do not end the service behind nginx',
  {
    skip: missingPrograms('nginx', 'openssl'),
  },
  (t) =>
    // How long another caller waits shows only on a quiet machine: `npm run reliability` holds it to its bound.
    assertEndured(
      ATTACKS.map(([, manner]) => manner),
      t,
      { through: 'nginx' },
    ),
);

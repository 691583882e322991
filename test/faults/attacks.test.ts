import { test } from 'node:test';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { ATTACKS, assertEndured } from './attacks.ts';

const manners = ATTACKS.map(([, manner]) => manner);

test('attacks of each kind at once do not end the service, nor take more than its memory', (t) =>
  assertEndured(manners, t));

test('behind nginx they do not either', { skip: missingPrograms('nginx', 'openssl') }, (t) =>
  // How long another caller waits shows only on a quiet machine: `npm run reliability` holds it to its bound.
  assertEndured(manners, t, { isProxied: true }),
);

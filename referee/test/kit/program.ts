import { appendFileSync, readFileSync } from 'node:fs';
import { CAREFUL, type Habits, mayRetry, retrying, smallClient } from './habits.ts';

/** A program of three calls, careful but for the habit that is named. */

const HABITS: Readonly<Record<string, Partial<Habits>>> = {
  'no-key': { headers: () => ({}) },
  'no-retries': { wait: () => undefined },
  silent: { wait: () => undefined, tells: false },
  impatient: { wait: (failure) => (mayRetry(failure) ? 0 : undefined), pause: () => 0 },
  endless: { wait: retrying(() => 20, Number.POSITIVE_INFINITY) },
};
const [habit = '', only] = process.argv.slice(2);
const url = process.env.REFEREE_URL ?? process.env.API_URL ?? '';
if (habit === 'fails') throw new Error('it fails by itself');
if (habit === 'nothing') process.exit(0);
if (habit === 'fails-third') appendFileSync('runs.txt', '.');
const client = smallClient(url, { ...CAREFUL, ...HABITS[habit] });
try {
  if (only !== 'create') await client.call('GET', '/things');
  await client.call('POST', '/things', 'ant');
  if (only !== 'create') await client.call('GET', '/things/1');
} finally {
  client.close();
}
if (habit === 'fails-third' && readFileSync('runs.txt', 'utf8').length === 3) throw new Error('it fails once');

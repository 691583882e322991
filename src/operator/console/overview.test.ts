import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../catalog/error.ts';
import { overviewWithoutDatabase } from './overview.ts';
import type { Rates } from './rates.ts';

test('rates below ten have a digit behind the point, lead to what has most, and are marked if bad and not zero', () => {
  const recent = { served: 9.96, clientErrors: 0.04, refused: 1_234.5, serverErrors: 0, p50: 0.0015, p99: undefined };
  const rates = { recent: () => recent } as unknown as Rates;
  const { content } = overviewWithoutDatabase(rates, new CatalogError('unavailable', 'The file is gone'));
  const tiles = [...content.text.matchAll(/<div class="tile([^"]*)"><dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)];
  assert.deepEqual(
    tiles.map(([, tone, label, value = '']) => [
      label,
      value.replaceAll(/<[^>]*>/g, ''),
      tone,
      ...(/sort=\w+/.exec(value) ?? []),
    ]),
    [
      ['Served /s', '10.0', '', 'sort=requests'],
      ['Client errors (4xx) /s', '0.0', '', 'sort=errors'],
      ['Refused (429) /s', '1,235', ' warning', 'sort=refused'],
      ['Server errors (5xx) /s', '0', '', 'sort=errors'],
      ['Median (p50)', '1.5 ms', ''],
      ['99 of 100 within (p99)', '–', ''],
    ],
  );
  assert.match(content.text, /role="alert">The database cannot be read: The file is gone\.<\/p>/);
});

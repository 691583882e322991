import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, numberedPages } from './list.ts';

test('an address has the parameters that are given, escaped', () => {
  assert.equal(addressOf('/keys', { q: '', state: undefined }), '/keys');
  assert.equal(addressOf('/keys', { q: 'a&b', page: '2' }), '/keys?q=a%26b&page=2');
});

test('the pages of a long list are numbered from the first to the last, with gaps', () => {
  const numbersAt = (page: number, pages: number) => {
    const { text } = numberedPages({ path: '/keys', query: { plan: 'pro' }, page, pages });
    return [...text.matchAll(/…|aria-label="Page ([\d,]+)"( aria-current="page")?/g)].map(([all, number, isCurrent]) =>
      all === '…' ? all : `${number}${isCurrent ? '!' : ''}`,
    );
  };
  assert.deepEqual(numbersAt(1, 1), []);
  assert.deepEqual(numbersAt(1, 3), ['1!', '2', '3']);
  assert.deepEqual(numbersAt(1, 201), ['1!', '2', '…', '201']);
  assert.deepEqual(numbersAt(100, 2001), ['1', '…', '99', '100!', '101', '…', '2,001']);
  assert.deepEqual(numbersAt(201, 201), ['1', '…', '200', '201!']);
});

test('steps and the jump to a page keep the filters', () => {
  const { text } = numberedPages({ path: '/keys', query: { plan: 'pro', q: '' }, page: 2, pages: 9 });
  assert.match(text, /rel="prev" href="\/console\/keys\?plan=pro"/);
  assert.match(text, /rel="next" href="\/console\/keys\?plan=pro&amp;page=3"/);
  assert.match(text, /<form action="\/console\/keys"><input type="hidden" name="plan" value="pro"><label for="page">/);
  assert.doesNotMatch(numberedPages({ path: '/keys', query: {}, page: 9, pages: 9 }).text, /rel="next"/);
});

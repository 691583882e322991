import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { untilTrue } from '../kit/clock.ts';
import { browseSignedIn, faults } from '../kit/console/browsing.ts';
import { testService } from '../kit/service.ts';

/** The pages of recent requests in a real browser: following, pausing, and a support question from end to end. */

const FOLLOW_MS = 1_000;
const { needsBrowser, browser } = suiteBrowser();

test(
  'the page of requests follows the traffic, marks what is new, and keeps what it shows while paused',
  needsBrowser,
  async () => {
    await using service = await testService();
    const { secret } = await service.issue({ name: 'shop' });
    const call = (id: string) => service.call(secret, '/pets', { headers: { 'x-request-id': id } });
    await call('first');
    await using browsing = await browseSignedIn(browser(), service);
    const { page, complaints } = browsing;
    await page.click('nav >> text=Requests');
    const shown = () =>
      page.locator('[data-request]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-request')));
    const untilShown = (count: number) =>
      untilTrue(async () => {
        await page.clock.fastForward(FOLLOW_MS);
        return (await shown()).length === count;
      }, `${count} requests`);
    assert.deepEqual(await shown(), ['first']);
    assert.equal(await page.textContent('#following'), 'New ones appear by themselves.');
    await call('second');
    await untilShown(2);
    assert.equal(await page.getAttribute('[data-request="second"]', 'class'), 'new');
    assert.equal(await page.getAttribute('[data-request="first"]', 'class'), null);

    await page.click('text=Pause');
    assert.equal(await page.textContent('#following'), 'Paused.');
    assert.equal(new URL(page.url()).search, '?paused=1');
    await call('third');
    const answered = page.waitForResponse((response) => response.url().includes('/console/requests'));
    await page.clock.fastForward(5 * FOLLOW_MS);
    await page.click('text=Follow');
    await page.clock.fastForward(FOLLOW_MS);
    assert.doesNotMatch((await answered).url(), /paused/, 'nothing was asked for while paused');
    assert.equal(new URL(page.url()).search, '');
    await untilShown(3);
    assert.deepEqual(await shown(), ['third', 'second', 'first']);
    assert.deepEqual(complaints, []);
  },
);

test('the first request with a key appears on its page by itself', needsBrowser, async () => {
  await using service = await testService();
  const { key, secret } = await service.issue();
  await using browsing = await browseSignedIn(browser(), service);
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console/keys/${key.id}`);
  await page.waitForSelector('text=The first one appears here within seconds');
  await service.call(secret, '/pets');
  await untilTrue(async () => {
    await page.clock.fastForward(3 * FOLLOW_MS);
    return (await page.locator('#requests-legend:has-text("1 served")').count()) === 1;
  }, 'the request in the chart');
  assert.equal(await page.locator('dd:text-is("never")').count(), 1, 'it was used, and expires never');
  await page.click('summary >> nth=0');
  await service.call(secret, '/pets');
  await untilTrue(async () => {
    await page.clock.fastForward(3 * FOLLOW_MS);
    return (await page.locator('#requests-legend:has-text("2 served")').count()) === 1;
  }, 'the next one');
  assert.ok(await page.isVisible('#requests-rows'), 'the table stays open');
});

test(
  '“customer X got 429s at 14:02, why?” takes one field from any page, and so does a request id',
  needsBrowser,
  async () => {
    await using service = await testService();
    const { secret } = await service.issue({ name: 'Customer X', plan: 'enterprise', limits: { minute: 2, day: 100 } });
    service.clock.advance(2 * 3_600 + 2 * 60);
    const ids: string[] = [];
    for (let request = 0; request < 5; request += 1) {
      const answer = await service.call(secret, '/pets');
      if (answer.status === 429) ids.push(answer.headers.get('x-request-id') ?? '');
    }
    assert.equal(ids.length, 3);
    await using browsing = await browseSignedIn(browser(), service, { timezoneId: 'UTC' });
    const { page } = browsing;
    await page.click('nav >> text=Settings');
    await page.fill('.look-up input', 'customer x');
    await page.press('.look-up input', 'Enter');
    await page.waitForSelector('.verdict:has-text("Over the limit of the minute: the key had used its 2 requests.")');
    assert.match((await page.textContent('.key-now')) ?? '', /plan enterprise: 2 a minute, 100 a day/);
    assert.equal(await page.locator('#failures-rows tr:has-text("14:02:00"):has-text("429")').count(), 3);
    assert.deepEqual(await faults(page), []);

    await page.fill('.look-up input', ids[1] ?? '');
    await page.press('.look-up input', 'Enter');
    await page.waitForSelector('.facts:has-text("2026-01-01 14:02:00")');
    await page.click('.key-now >> text=Change');
    await page.waitForSelector('#plan');
  },
);

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn, DESKTOP, draw, faults, PHONE } from '../kit/console/browsing.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The pages that a rehearsal adds to the console. */

const { needsBrowser, browser } = suiteBrowser();
let service: TestService;

before(async () => {
  service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on' });
});
after(() => service[Symbol.asyncDispose]());

test('the time is put forward in the console, and the page is accessible and fits a phone', needsBrowser, async () => {
  await using browsing = await browseSignedIn(browser(), service);
  const { page, complaints } = browsing;
  await page.click('nav >> text=Clock');
  const time = () => page.textContent('#time');
  assert.equal(await time(), '2026-01-01T12:00:00Z');
  await page.fill('#advance', '36h');
  await page.click('button:has-text("Advance")');
  await page.waitForSelector('dd:has-text("129,600 s")');
  assert.equal(await time(), '2026-01-03T00:00:00Z');
  await page.fill('#set', '2026-02-01T10:30');
  await page.click('button:has-text("Set")');
  await page.waitForSelector('#time:has-text("2026-02-01T10:30:00Z")');
  await page.fill('#advance', 'soon');
  await page.click('button:has-text("Advance")');
  await page.waitForSelector('[role=alert]:has-text("advance is")');
  for (const [name, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
    await page.setViewportSize(size);
    await draw(page, `clock-${name}`);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), size.width, `too wide for a ${name}`);
    assert.deepEqual(await faults(page), []);
  }
  // Each turn is in the audit, and what was sent wrongly was answered 400.
  await page.goto(`${service.operatorUrl}/console/audit`);
  assert.equal(await page.locator('td:has-text("clock.turn")').count(), 2);
  assert.deepEqual(
    complaints.filter((complaint) => !complaint.includes('400')),
    [],
  );
});

test('the page tells the time and the machine’s, and takes seconds, or says what is wrong', async () => {
  await using own = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on' });
  const operator = await signIn(own);
  const facts = (text: string) => [...text.matchAll(/<dd[^>]*>([^<]*)<\/dd>/g)].map(([, fact]) => fact);
  const untouched = await operator.page('/clock');
  const machine = '2026-01-01T12:00:00Z';
  assert.deepEqual(facts(untouched), [machine, 'nothing', machine]);
  assert.match(untouched, /<input id="advance" name="advance" value="1h"/);
  const set = await operator.post('/clock/set', { set: '2026-02-01T10:30:05' });
  assert.deepEqual([set.status, set.headers.get('location')], [303, '/console/clock']);
  const turned = await operator.page('/clock');
  assert.deepEqual(facts(turned), ['2026-02-01T10:30:05Z', '31 days (2,673,005 s)', machine]);
  assert.match(turned, /<input id="set" [^>]*value="2026-02-01T10:30:05"/);
  const audited = await operator.page('/audit?action=clock.turn');
  assert.match(audited, /<td data-column="Target"><div>clock</, 'it leads to no other page');
  const wrong = await operator.post('/clock/advance', { advance: 'soon' });
  assert.equal(wrong.status, 400);
  const text = await wrong.text();
  assert.match(text, /role="alert">advance is &quot;soon&quot;; write a duration such as 90s, 10m, 24h or 30d</);
  assert.match(text, /<input id="advance" name="advance" value="soon"/);
  assert.doesNotMatch(await (await signIn(own, 'keys')).page('/clock'), /action="\/console\/clock/);
});

test('a viewer sees the time, and cannot turn it; a plain service has no clock', async () => {
  const viewer = await signIn(service, 'viewer');
  const page = await viewer.page('/clock');
  assert.ok(page.includes('<h1>Clock</h1>') && !page.includes('action="/console/clock'), page);
  assert.equal((await viewer.post('/clock/advance', { advance: '1h' })).status, 403);
  await using plain = await testService({ ENVIRONMENT: 'staging' });
  const operator = await signIn(plain);
  assert.equal((await operator.get('/clock')).status, 404);
  assert.ok(!(await operator.page('')).includes('/console/clock'));
});

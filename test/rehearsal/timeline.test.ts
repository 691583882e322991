import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { rehearsalView } from '../../src/rehearsal/verdict/timeline.ts';
import { suiteBrowser } from '../kit/chromium.ts';
import { ABOUT_WIDTH, browseSignedIn, DESKTOP, draw, faults, PHONE } from '../kit/console/browsing.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';
import { testService } from '../kit/service.ts';

/** The pages of the console about rehearsals. */

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

test('the form writes a script, and its key follows it', async () => {
  const { service } = rehearsed;
  const operator = await signIn(service, 'keys');
  assert.match(await operator.page('/rehearsals'), /No client was rehearsed yet\./);
  const form = await operator.page('/rehearsals/new');
  assert.match(form, /<select id="step-6" name="step">/);
  assert.match(
    form,
    /limit \(86400 at most\), limit-date \(86400 at most\), quota .*, ban .*, unavailable .*, slow \(60 at most\)\./,
  );
  const created = await operator.post('/rehearsals', {
    name: 'ci',
    step: ['error', '', 'limit'],
    seconds: ['', '', ' 2 '],
    times: ['2', '', ''],
  });
  const text = await created.text();
  assert.equal(created.status, 200, text);
  assert.match(text, /Its requests meet <code>error\*2,limit:2<\/code>/);
  const [, secret = ''] = /value="(petcat_test_[^"]+)"/.exec(text) ?? [];
  const [, path = ''] = /href="\/console(\/rehearsals\/key_[^"]+)"/.exec(text) ?? [];
  assert.equal((await service.call(secret, '/categories')).status, 500);
  assert.match(await operator.page('/rehearsals'), /<code>error\*2,limit:2<\/code><\/td><td>1 of 3<\/td>/);
  assert.match(await operator.page(path), /1 of 3 steps were reached/);
  assert.deepEqual(
    (await service.storage.keys.list()).map(({ name, plan }) => [name, plan]),
    [['ci', 'business']],
  );
  const both = await operator.post('/rehearsals', { name: 'both', script: 'lost', step: ['error'] });
  assert.match(await both.text(), /Its requests meet <code>lost<\/code>/);
});

test('rehearsals are listed newest first, also those of one second', async () => {
  const { service } = rehearsed;
  const first = await rehearsed.follow('ok');
  service.clock.advance(1);
  const [second, third] = [await rehearsed.follow('ok'), await rehearsed.follow('ok')];
  const list = await (await signIn(service)).page('/rehearsals');
  const ids = [...list.matchAll(/href="\/console\/rehearsals\/(key_\w+)"/g)].map(([, id]) => id);
  assert.deepEqual(ids.slice(0, 3), [third.id, second.id, first.id]);
  while (ids.length < 100) ids.push((await rehearsed.follow('ok')).id);
  assert.doesNotMatch(await (await signIn(service)).page('/rehearsals'), /The latest/);
  await rehearsed.follow('ok');
  const all = await (await signIn(service)).page('/rehearsals');
  assert.match(all, /The latest 100\. <code>pet-catalog rehearse report ID<\/code> judges any other\.</);
  assert.equal(all.match(/href="\/console\/rehearsals\/key_/g)?.length, 100);
});

test('the form comes back with what is wrong, and no key is made', async () => {
  const { service } = rehearsed;
  const operator = await signIn(service);
  const before = (await service.storage.keys.list()).length;
  for (const [fields, wrong] of [
    [{ name: 'ci', step: ['limit'] }, /Step 1 of the script, &quot;limit&quot;, needs whole seconds from 1 to 86400/],
    [{ name: 'ci', script: 'okay', step: ['ok'] }, /&quot;okay&quot;, is none of the steps/],
    [{ name: 'ci' }, /The script is empty/],
    [{ name: '', script: 'ok' }, /The name of a key is 1 to/],
  ] as const) {
    const answer = await operator.post('/rehearsals', { ...fields, step: [...('step' in fields ? fields.step : [])] });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), wrong);
  }
  assert.equal((await service.storage.keys.list()).length, before);
  const fields = { name: 'kept', script: 'okay', step: ['limit', ''], seconds: ['7', ''], times: ['3', ''] };
  const text = await (await operator.post('/rehearsals', fields)).text();
  assert.equal(text.match(/<option value="limit" selected>/g)?.length, 1);
  for (const [id, value] of Object.entries({ name: 'kept', script: 'okay', 'seconds-1': '7', 'times-1': '3' }))
    assert.match(text, new RegExp(`<input id="${id}" [^>]*value="${value}"`));
});

test('the timeline numbers the latest requests by all, and praises only a wait that was long enough', () => {
  const ordinary = {
    ...{ turnedBy: 0, method: 'GET', route: '/v1/categories', target: 'list', body: null, idempotencyKey: null },
    ...{ credentials: null, step: null, isEarly: false, isDelivered: true, isDone: false, hasCreated: false },
  };
  const note = (index: number) => {
    const at = index * 1_000;
    return { ...ordinary, at, answeredAt: at, status: 429, retryAfter: index === 197 ? 2 : 1 };
  };
  const { text } = rehearsalView({
    keyId: 'key_1',
    script: 'ok',
    reached: 0,
    requests: Array.from({ length: 201 }, (_, index) => note(index)),
  });
  const rows = [...text.matchAll(/<tr id="request-(\d+)">.*?<\/tr>/gs)];
  assert.deepEqual([rows.length, rows[0]?.[1], rows.at(-1)?.[1]], [200, '2', '201']);
  const unpraised = rows.filter(([row]) => !row.includes('>waited<'));
  assert.deepEqual(
    unpraised.map(([row, number]) => [number, row.includes('>waits<')]),
    [['199', true]],
  );
});

test('the timeline shows the waits, what was asked for, and which rules each request breaks', async () => {
  const { service, time } = rehearsed;
  const key = await rehearsed.follow('limit:2,ok', { name: '<hasty>' });
  const list = () => service.call(key.secret, '/categories');
  await list();
  await time.run(time.clock.sleep(1_500, new AbortController().signal));
  await list();
  await time.run(time.clock.sleep(1_000, new AbortController().signal));
  await list();
  const viewer = await signIn(service, 'viewer');
  const text = await viewer.page(`/rehearsals/${key.id}`);
  assert.match(text, /<h1><bdi>&lt;hasty&gt;<\/bdi><\/h1>/);
  assert.match(text, /<code>waits<\/code><\/th><td><span class="badge danger">broken<\/span>/);
  assert.match(text, /Request 2 \(GET \/v1\/categories\) came 1500 ms after request 1 .* whose Retry-After was 2 s\./);
  const [first = '', second = '', third = ''] = text.split('<tr id="request-').slice(1);
  assert.match(first, /<code>limit:2<\/code><\/td>\s*<td>429; nothing done<\/td>/);
  assert.match(second, /1\.50 s<\/td>\s*<td><meter [^>]*max="2000"[^>]*value="1500"[^>]*><\/meter> 2 s/);
  assert.match(second, /early[\s\S]*<span class="badge danger">waits<\/span>/);
  assert.match(third, /1\.00 s<\/td>[\s\S]*value="1000"[\s\S]*<span class="badge good">waited<\/span>/);
  const none = await viewer.get('/rehearsals/key_none');
  assert.equal(none.status, 404);
  assert.match(await none.text(), /There is no such rehearsal; it may have been removed/);
});

const { needsBrowser, browser } = suiteBrowser();

test('the pages are accessible and fit a phone', needsBrowser, async () => {
  const { service } = rehearsed;
  const key = await rehearsed.follow('ban:60,lost,ok', { name: 'shop' });
  for (let call = 0; call < 2; call += 1) await service.call(key.secret, '/categories');
  await using browsing = await browseSignedIn(browser(), service);
  const { page, complaints } = browsing;
  for (const [name, path] of Object.entries({ list: '', form: '/new', report: '/report', timeline: `/${key.id}` })) {
    await page.goto(`${service.operatorUrl}/console/rehearsals${path}`);
    for (const [size, rules] of [
      [DESKTOP, []],
      [PHONE, ABOUT_WIDTH],
    ] as const) {
      await page.setViewportSize(size);
      await draw(page, `rehearsals-${name}-${size.width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), size.width, `${name} is too wide`);
      assert.deepEqual(await faults(page, ...rules), [], name);
    }
  }
  await page.goto(`${service.operatorUrl}/console/rehearsals/new`);
  await page.fill('#name', 'by hand');
  await page.selectOption('#step-1', 'limit');
  await page.fill('#seconds-1', '2');
  await page.click('button:has-text("Create the key")');
  await page.click('text=Watch the rehearsal');
  await page.waitForSelector('dd:has-text("0 of 1 steps were reached")');
  assert.deepEqual(complaints, []);
});

test('viewers see rehearsals, and create none', async () => {
  const { service } = rehearsed;
  const viewer = await signIn(service, 'viewer');
  assert.doesNotMatch(await viewer.page('/rehearsals'), /New rehearsal/);
  assert.equal((await viewer.get('/rehearsals/new')).status, 403);
  assert.equal((await viewer.post('/rehearsals', { name: 'ci', script: 'ok' })).status, 403);
});

test('without rehearsal there is no such page', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  assert.doesNotMatch(await operator.page(''), /Rehearsals/);
  assert.equal((await operator.get('/rehearsals')).status, 404);
});

test('a report of a run is shown as a timeline, before a service or any other API', async () => {
  const { service } = rehearsed;
  const key = await rehearsed.follow('limit:2,ok', { name: 'run' });
  await service.call(key.secret, '/categories');
  await rehearsed.time.run(rehearsed.time.clock.sleep(1_500, new AbortController().signal));
  await service.call(key.secret, '/categories');
  const report = await key.report();
  const command = { exit: 1, timedOut: false };
  const foreign = { ...report, keyId: null, script: 'ok*2', command, remarks: ['upstream: made twice <it>'] };
  const viewer = await signIn(service, 'viewer');
  assert.match(await viewer.page('/rehearsals'), /href="\/console\/rehearsals\/report"/);
  const send = async (file?: unknown) => {
    const body = new FormData();
    body.set('csrf', viewer.csrf);
    if (file !== undefined)
      body.set('file', new Blob([typeof file === 'string' ? file : JSON.stringify(file)]), 'report.json');
    const answer = await fetch(`${service.operatorUrl}/console/rehearsals/report`, {
      method: 'POST',
      body,
      headers: { cookie: viewer.cookie },
    });
    return [answer.status, await answer.text()] as const;
  };
  const [status, text] = await send([report, foreign]);
  assert.equal(status, 200, text);
  const [, first = '', second = ''] = text.split('<dl class="facts">');
  assert.match(first, /<code>limit:2,ok<\/code><\/dd>\s*<dt>Reached<\/dt><dd>1 of 2 steps/);
  assert.match(first, /<dd>unknown<\/dd>/);
  assert.match(first, /<h2>Verdict under 1\. limit:2,ok<\/h2>/);
  assert.match(first, /<code>waits<\/code><\/th><td><span class="badge danger">broken[\s\S]*href="#1-request-2"/);
  assert.match(first, /<tr id="1-request-2">[\s\S]*1\.50 s/);
  assert.match(second, /<dd>exited with 1<\/dd>[\s\S]*upstream: made twice &lt;it&gt;\.[\s\S]*<tr id="2-request-1">/);
  const ended = [
    { ...report, command: { exit: null, timedOut: false } },
    { ...report, command: { exit: null, timedOut: true } },
    { ...report, failure: 'The upstream did not answer' },
  ];
  const [, ends] = await send(ended);
  assert.match(ends, /<dd>ended by a signal<\/dd>[\s\S]*<dd>stopped, because it did not end in time<\/dd>/);
  assert.match(ends, /<p class="mistake" role="alert">The upstream did not answer<\/p>/);
  assert.equal((await send(report))[0], 200);
  const [request] = report.requests;
  const many = (requests: number) => [{ ...report, requests: Array(requests).fill({ ...request, status: 200 }) }];
  assert.equal((await send(many(2_000)))[0], 200);
  assert.equal((await send(Array(50).fill(report)))[0], 200);
  for (const [file, wrong] of [
    ['{', /This is no report of a rehearsal: the file is not JSON/],
    [undefined, /no file was chosen/],
    [Array(51).fill(report), /50/],
    [many(10_001), /has 10,001 items; send at most 10,000/],
    [[{ script: 'ok' }], /keyId, 0\.reached and 0\.requests are missing/],
    [[{ ...report, requests: [{ at: 'x' }] }], /0\.requests\.0\.answeredAt, .* are missing|send a number/],
    [[{ ...report, script: 'okk' }], /Step 1 of the script, &quot;okk&quot;/],
  ] as const) {
    const [code, page] = await send(file);
    assert.equal(code, 400);
    assert.match(page, wrong);
  }
});

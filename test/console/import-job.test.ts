import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import { Imports } from '../../src/operator/catalog/import-job.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { ACTOR, send, signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

const BY = { actor: ACTOR, via: 'console' } as const;

test('imports run one at a time and report their progress and errors', async () => {
  let progress: (inserted: number) => void = () => {};
  let end = Promise.withResolvers<void>();
  const defects: unknown[] = [];
  const storage = {
    categories: {
      import: (_all: unknown, _by: unknown, onProgress: (inserted: number) => void) => {
        progress = onProgress;
        return end.promise;
      },
    },
  } as unknown as Storage;
  const imports = new Imports(storage);
  const start = () => imports.start([{ name: 'Dog' }, { name: 'Cat' }], BY, (error) => defects.push(error));

  const first = start();
  progress(1);
  assert.deepEqual(imports.find(first), { total: 2, inserted: 1, failure: undefined });
  assert.throws(start, /Another import is running/);
  end.resolve();
  await untilTrue(async () => imports.find(first)?.failure === null);

  end = Promise.withResolvers();
  const full = start();
  end.reject(new CatalogError('catalog_full', 'The catalog is full'));
  await untilEqual(() => imports.find(full)?.failure, 'Nothing was imported. The catalog is full');
  assert.equal(defects.length, 0);

  end = Promise.withResolvers();
  const broken = start();
  end.reject(new Error('a secret of the engine'));
  await untilTrue(async () => imports.find(broken)?.failure?.endsWith('The import failed; see the log') === true);
  assert.equal(defects.length, 1);

  end = Promise.withResolvers();
  const unknown = start();
  end.reject(new CatalogError('outcome_unknown', 'The answer was lost'));
  await untilTrue(async () => imports.find(unknown)?.failure?.startsWith('The outcome is unknown') === true);

  end = Promise.withResolvers();
  end.resolve();
  const ids: string[] = [];
  for (let more = 0; more < 20; more += 1) {
    const id = start();
    ids.push(id);
    await untilTrue(async () => imports.find(id)?.failure === null);
  }
  assert.ok(imports.find(ids[0] ?? ''), 'the last twenty');
  assert.equal(imports.find(first), undefined, 'only the last ones are remembered');
});

test('the page of an import shows its progress while it runs', async () => {
  await using service = await testService();
  const { cookie, csrf, page } = await signIn(service);
  const lines = Array.from({ length: 20_000 }, (_, index) => `{"name":"${index}"}\n`).join('');
  const body = new FormData();
  body.set('csrf', csrf);
  body.set('file', new File([lines], 'many.ndjson'));
  const begun = await send(service, '/categories/import', { body, headers: { cookie } });
  const job = begun.headers.get('location')?.slice('/console'.length) ?? '';
  const running = await page(job);
  const [, inserted = ''] = /<label for="progress">([\d,]+) of 20,000<\/label>/.exec(running) ?? [];
  assert.match(inserted, /^[1-9]/);
  assert.match(running, /<progress id="progress" max="20000" value="[1-9]\d*" data-hurry>/);
  assert.match(running, /<div id="job" data-live>.*The import continues if you leave this page\./s);
  const reload = '<noscript><meta http-equiv="refresh" content="1"></noscript>';
  assert.ok(running.includes(reload), 'without scripts it follows all the same');
  await untilTrue(async () => /20,000 categories were imported/.test(await page(job)));
  assert.ok(!(await page(job)).includes(reload));
  Object.assign(service.storage.categories, { import: () => Promise.reject(new Error('<no> disk')) });
  const again = await send(service, '/categories/import', { body, headers: { cookie } });
  const failed = again.headers.get('location')?.slice('/console'.length) ?? '';
  await untilTrue(async () => !(await page(failed)).includes('<progress'));
  assert.match(
    await page(failed),
    /<p class="mistake" role="alert">Nothing was imported\. The import failed; see the log\.<\/p>\n<p><a class="button" href="\/console\/categories\/import">/,
  );
  assert.deepEqual(service.events.failures, [new Error('<no> disk')]);
});

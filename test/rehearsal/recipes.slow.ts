import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { codeIn } from '../kit/client/project.ts';
import { run } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/** The import on the page of recipes, run with the retries of the guide, keeps the rules of every rehearsal. */

const SCRIPTS = ['limit:2,lost,ok,cut,ok', 'unavailable:1,error,ok,unknown,ok'];
const LANGUAGES = [
  {
    language: 'js',
    check: 'node --version',
    url: "'URL'",
    env: 'process.env.PET_CATALOG_URL',
    command: 'node main.js',
  },
  {
    language: 'py',
    check: 'python3 -m requests.help',
    url: '"URL"',
    env: 'os.environ["PET_CATALOG_URL"]',
    command: 'python3 main.py',
  },
  { language: 'go', check: 'go version', url: '"URL"', env: 'os.Getenv("PET_CATALOG_URL")', command: './main' },
] as const;

for (const { language, check, url, env, command } of LANGUAGES) {
  const skip = spawnSync('sh', ['-c', check]).status !== 0 && `${check} fails here; install it to judge this recipe`;
  test(`the import in ${language} keeps every rule of the rehearsal that it meets`, { skip }, async () => {
    using folder = temporaryFolder();
    const written = url.replace('URL', 'http://127.0.0.1:8080/v1/categories');
    const [main = ''] = codeIn(page('recipes'), 'Import a catalog', language);
    assert.ok(main.includes(written));
    const files = {
      [`main.${language}`]: main.replace(written, `${env} + ${url.replace('URL', '/categories')}`),
      [language === 'js' ? 'retries.mjs' : `retries.${language}`]: codeIn(
        page('retries'),
        'When to retry',
        language,
      )[0],
      'package.json': '{"type":"module"}',
    };
    for (const [name, code = ''] of Object.entries(files)) writeFileSync(join(folder.path, name), code);
    if (language === 'go') {
      const { status, stderr } = spawnSync('go', ['build', '-o', 'main', 'main.go', 'retries.go'], {
        cwd: folder.path,
      });
      assert.equal(status, 0, `${stderr}`);
    }
    const args = ['rehearse', 'run', ...SCRIPTS, '--', ...command.split(' ')];
    const { code, stdout, stderr } = await run(args, { cwd: folder.path });
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^10 kept of 10 rules$/m);
  });
}

function page(name: string): string {
  return readFileSync(new URL(`../../src/http/docs/pages/${name}.md`, import.meta.url), 'utf8');
}

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../test/kit/folder.ts';
import { run } from '../test/kit/process.ts';
import { ConfigMistakes } from './config.ts';
import { readEnvFile } from './env-file.ts';

function read(content: string | Uint8Array) {
  using folder = temporaryFolder();
  const file = join(folder.path, '.env');
  writeFileSync(file, content);
  try {
    return { ...readEnvFile(file) };
  } catch (error) {
    if (!(error instanceof ConfigMistakes)) throw error;
    return error.mistakes.map((mistake) => mistake.replace(file, '.env'));
  }
}

test('a file is read as UTF-8, with or without its byte order mark', () => {
  for (const mark of ['', '\u{FEFF}'])
    assert.deepEqual(read(`${mark}PORT=1\r\nHOST="ä#b" # c\r\n`), { PORT: '1', HOST: 'ä#b' });
  assert.deepEqual(readEnvFile('/nowhere/.env'), {});
  const utf16 = ['.env: it is UTF-16; save it as UTF-8'];
  for (const bytes of [Buffer.from('\u{FEFF}PORT=1', 'utf16le'), Buffer.from('\u{FEFF}PORT=1', 'utf16le').swap16()])
    assert.deepEqual(read(bytes), utf16);
  assert.deepEqual(read(Buffer.from('PORT=1', 'utf16le')), utf16);
  assert.deepEqual(read(Buffer.from([0x41, 0x3d, 0xe4])), ['.env: it is not UTF-8; save it as UTF-8']);
});

test('a value that would be cut is refused with its line, a comment is not', () => {
  for (const [text, value] of [
    ['DATABASE_URL=a # b#c', 'a'],
    ['DATABASE_URL= # b', ''],
    ["DATABASE_URL='a#b'", 'a#b'],
    ['export DATABASE_URL = `a#b`', 'a#b'],
    ['# DATABASE_URL=a#b\nDATABASE_URL=a', 'a'],
  ] as const)
    assert.deepEqual(read(text), { DATABASE_URL: value }, text);
  assert.deepEqual(read('COLOUR=#fff\nTEXT="two\nPORT=a#b"\n'), { COLOUR: '', TEXT: 'two\nPORT=a#b' });
  const cut = (line: number, name: string) =>
    `.env:${line}: ${name} would end before its #; put the value into quotes, or a space before a comment`;
  assert.deepEqual(read('\nDATABASE_URL=postgres://u:p#w@h/d\nCORS_ORIGINS=#a\nREDIS_URL_FILE=a#b\nOTEL_X=a#b # c'), [
    cut(2, 'DATABASE_URL'),
    cut(3, 'CORS_ORIGINS'),
    cut(4, 'REDIS_URL_FILE'),
    cut(5, 'OTEL_X'),
  ]);
  assert.deepEqual(read('HOST="a\nPORT=1\nENVIRONMENT="staging"\n'), [
    '.env:1: HOST has a quote that is not closed in its line',
  ]);
});

test('every command that reads settings names what has no effect in `.env`, and refuses what it cannot read', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  writeFileSync(join(cwd, '.env'), '\u{FEFF}DATABASE_URL=sqlite:here.db\nDATABSE_URL=x\n');
  const told = 'pet-catalog: DATABSE_URL is no setting; is DATABASE_URL meant? (from .env)';
  const from = ['--from', 'sqlite:here.db', '--to', 'sqlite:there.db'];
  for (const args of [['migrate'], ['keys', 'list'], ['categories', 'list'], ['config'], ['transfer', ...from]]) {
    const { code, stderr } = await run(args, { cwd });
    assert.deepEqual([code, stderr.split('\n')[0]], [0, told], args.join(' '));
  }
  assert.ok(existsSync(join(cwd, 'here.db')));
  writeFileSync(join(cwd, '.env'), Buffer.from('DATABASE_URL=sqlite:other.db', 'utf16le'));
  const { code, stderr } = await run(['keys', 'create', '--name', 'n'], { cwd });
  assert.deepEqual([code, stderr], [2, 'pet-catalog: .env: it is UTF-16; save it as UTF-8\n']);
  assert.ok(!existsSync(join(cwd, 'other.db')) && !existsSync(join(cwd, 'data')));
});

import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { realPath } from './real-path.ts';

test('links of every kind lead to the file, also to one that is still to be made', () => {
  using temporary = temporaryFolder();
  const folder = realpathSync(temporary.path);
  const at = (...parts: string[]) => join(folder, ...parts);
  mkdirSync(at('data'));
  writeFileSync(at('data', 'x.db'), '');
  symlinkSync('data/x.db', at('relative'));
  symlinkSync(at('data', 'x.db'), at('absolute'));
  symlinkSync('relative', at('twice'));
  symlinkSync('data', at('folder'));
  symlinkSync('folder', at('folder-twice'));
  for (const link of ['relative', 'absolute', 'twice', 'folder/x.db', 'folder-twice/x.db']) {
    assert.equal(realPath(at(link)), at('data', 'x.db'), link);
  }
  assert.equal(realPath(at('folder-twice', 'new', 'y.db')), at('data', 'new', 'y.db'));
  assert.equal(realPath(at('data', 'x.db')), at('data', 'x.db'));
  assert.equal(realPath(at('none', 'x.db')), at('none', 'x.db'));
  const below = at('folder', 'x.db', 'below');
  assert.equal(realPath(below), below, 'what is wrong otherwise is found where it is opened');
  assert.equal(realPath('./package.json'), './package.json', 'a path without a link stays as it was written');
});

test('a link that leads nowhere, or in a circle, is refused', () => {
  using temporary = temporaryFolder();
  const at = (name: string) => join(temporary.path, name);
  symlinkSync('nothing.db', at('dangling'));
  symlinkSync('no-folder', at('dangling-folder'));
  symlinkSync('other', at('one'));
  symlinkSync('one', at('other'));
  for (const path of ['dangling', 'one']) {
    assert.throws(() => realPath(at(path)), { message: `${at(path)} is a link that leads nowhere` });
  }
  assert.throws(() => realPath(at('dangling-folder/x.db')), {
    message: `${at('dangling-folder')} is a link that leads nowhere`,
  });
});

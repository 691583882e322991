import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillWithLife, pagesOf } from '../kit/console/life.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

/** What each role may do in the console. */

/** Pages that are forms. */
const FORMS = /\/(new|edit|rotate|revoke|delete|import)$/;

test('a viewer sees every page without a button that changes anything, and no page that is a form', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const viewer = await signIn(service, 'viewer');
  const { id } = await otherSession(service);
  let seen = 0;
  for (const [, path] of pagesOf(life)) {
    if (path.startsWith('/login') || path === '/nothing-here') continue;
    const answer = await viewer.get(path);
    if (FORMS.test(path)) {
      assert.equal(answer.status, 403, path);
      continue;
    }
    const text = await answer.text();
    assert.equal(answer.status, 200, path);
    const actions = [...text.matchAll(/<form method="post" action="\/console([^"]*)"/g)].map(([, action]) => action);
    const own = actions.filter((action) => action !== '/logout' && !action?.startsWith('/sessions/'));
    assert.deepEqual(own, [], path);
    assert.doesNotMatch(text, /href="[^"]*\/(new|edit|rotate|revoke|delete|import)"/, path);
    assert.ok(!text.includes(`/sessions/${id}/end`), path);
    seen += 1;
  }
  assert.ok(seen >= 15, `${seen}`);
});

async function otherSession(service: TestService): Promise<{ id: string }> {
  await signIn(service, 'admin');
  const sessions = await service.storage.sessions.list(service.clock.now().unix);
  const other = sessions.find(({ role }) => role === 'admin');
  assert.ok(other);
  return other;
}

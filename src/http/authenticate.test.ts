import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { manualClock } from '../../test/kit/clock.ts';
import { type FoundKey, mintSecret, newApiKey } from '../catalog/api-key.ts';
import type { Storage } from '../catalog/storage.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import { type Authentication, Authenticator } from './authenticate.ts';

const NOW = 1_800_000_000;
const REQUESTS = 250;

/** An authenticator on a storage whose look-ups the test resolves. */
function bench() {
  const { key, secret } = newApiKey({ name: 'x', environment: 'production', plan: 'free' }, NOW);
  const lookUps: PromiseWithResolvers<FoundKey | undefined>[] = [];
  const findBySecret = () => {
    const lookUp = Promise.withResolvers<FoundKey | undefined>();
    lookUps.push(lookUp);
    return lookUp.promise;
  };
  const clock = manualClock(NOW);
  const storage = { keys: { findBySecret } } as unknown as Storage;
  const authenticator = new Authenticator(storage, { environment: 'production', time: clock });
  const socket = new Socket();
  const authenticate = async (token = secret) =>
    authenticator.authenticate({ headers: { authorization: `Bearer ${token}` }, socket } as IncomingMessage);
  return {
    key,
    secret,
    clock,
    lookUps,
    authenticator,
    authenticate,
    many: () => Promise.allSettled(Array.from({ length: REQUESTS }, () => authenticate())),
  };
}

function isRefused({ refused }: Authentication): boolean {
  return refused?.status === 401 && refused.code === 'invalid_api_key';
}

test('concurrent requests with an unknown key cost one look-up', async () => {
  const { key, lookUps, many, authenticate } = bench();
  const all = many();
  assert.equal(lookUps.length, 1);
  lookUps[0]?.resolve({ key, endsAt: null });
  assert.ok((await all).every((each) => each.status === 'fulfilled' && each.value.key === key));
  assert.equal((await authenticate()).key, key);
  assert.equal(lookUps.length, 1, 'and it is remembered');
});

test('a connection whose key changes, or is revoked, is not taken for the one before', async () => {
  const { key, secret, lookUps, authenticator, authenticate } = bench();
  const found = async (token: string, result: FoundKey | undefined) => {
    const answer = authenticate(token);
    lookUps.pop()?.resolve(result);
    return answer;
  };
  assert.equal((await found(secret, { key, endsAt: null })).key, key);
  for (let times = 0; times < 2; times += 1) assert.equal((await authenticate()).key, key);
  const other = newApiKey({ name: 'y', environment: 'production', plan: 'free' }, NOW);
  assert.equal((await found(other.secret, { key: other.key, endsAt: null })).key, other.key);
  assert.equal((await authenticate()).key, key);
  authenticator.forget([key.id]);
  assert.ok(isRefused(await found(secret, undefined)));
});

test('a look-up that fails or finds nothing fails the requests waiting for it, and the next request tries again', async () => {
  const { key, lookUps, many, authenticate } = bench();
  const failed = many();
  lookUps[0]?.reject(new Error('no storage'));
  assert.ok((await failed).every((each) => each.status === 'rejected' && each.reason.message === 'no storage'));
  const unknown = many();
  assert.equal(lookUps.length, 2);
  lookUps[1]?.resolve(undefined);
  assert.ok((await unknown).every((each) => each.status === 'fulfilled' && isRefused(each.value)));
  const found = authenticate();
  lookUps[2]?.resolve({ key, endsAt: null });
  assert.equal((await found).key, key);
});

test('a key that is revoked or made while it is looked up is looked up again, for all that wait', async () => {
  const { key, lookUps, authenticator, authenticate } = bench();
  const revoked = { ...key, revokedAt: NOW };
  for (const [before, changed, after] of [
    [key, [key.id], revoked],
    [key, undefined, revoked],
    [undefined, [key.id], key],
  ] as const) {
    const first = lookUps.length;
    const waiting = [authenticate()];
    authenticator.forget(changed);
    waiting.push(authenticate());
    assert.equal(lookUps.length, first + 1);
    lookUps[first]?.resolve(before && { key: before, endsAt: null });
    await setImmediate();
    assert.equal(lookUps.length, first + 2);
    lookUps[first + 1]?.resolve({ key: after, endsAt: null });
    for (const each of waiting) assert.equal(isRefused(await each), after === revoked);
    authenticator.forget();
  }
});

test('a look-up is not repeated for the change of another key', async () => {
  const { key, lookUps, authenticator, authenticate } = bench();
  const found = authenticate();
  authenticator.forget(['key_other']);
  lookUps[0]?.resolve({ key, endsAt: null });
  assert.equal((await found).key, key);
  assert.equal((await authenticate()).key, key);
  assert.equal(lookUps.length, 1);
});

test('a key that changed is forgotten with each of its secrets, and nothing of it is kept', async (t) => {
  const [kept, begun] = [t.mock.method(BoundedMap.prototype, 'set'), t.mock.method(Set.prototype, 'add')];
  for (const all of [false, true]) {
    const { key, secret, lookUps, authenticator, authenticate } = bench();
    const secrets = [secret, mintSecret('production')];
    for (const asked of [2, 4]) {
      const found = secrets.map((each) => authenticate(each));
      assert.equal(lookUps.length, asked);
      for (const lookUp of lookUps) lookUp.resolve({ key, endsAt: null });
      for (const each of found) assert.equal((await each).key, key);
      authenticator.forget(all ? undefined : [key.id]);
    }
  }
  const maps = new Set(kept.mock.calls.map((call) => call.this as BoundedMap<unknown>));
  assert.deepEqual(
    [...maps].map(({ size }) => size),
    [0, 0, 0, 0],
  );
  const lookUps = begun.mock.calls.filter(({ arguments: [value] }) => Object.keys(value ?? {}).join() === 'ids');
  assert.deepEqual(
    lookUps.map((call) => (call.this as Set<unknown>).size),
    new Array(8).fill(0),
  );
});

test('a cached key is refused from the second on in which it expires, or the grace of its old secret ends', async () => {
  for (const lasts of [{ expiresAt: NOW + 10 }, { endsAt: NOW + 10 }]) {
    const { key, clock, lookUps, authenticate } = bench();
    const { endsAt = null, expiresAt = null } = { ...lasts };
    const first = authenticate();
    lookUps[0]?.resolve({ key: { ...key, expiresAt }, endsAt });
    assert.equal((await first).key?.id, key.id);
    clock.advance(4);
    // Times of keys are told by the system clock, also when it is stepped.
    clock.step(5);
    assert.equal((await authenticate()).key?.id, key.id);
    clock.advance(1);
    assert.ok(isRefused(await authenticate()));
    assert.equal(lookUps.length, 1);
  }
});

test('a token with a wrong checksum, or of another environment, is refused without a look-up', async () => {
  const { secret, lookUps, authenticate } = bench();
  const last = secret.endsWith('0') ? '1' : '0';
  const answers = [secret.slice(0, -1) + last, mintSecret('staging'), 'p'].map((token) => authenticate(token));
  assert.equal(lookUps.length, 0);
  assert.ok((await Promise.all(answers)).every(isRefused));
});

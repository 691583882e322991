import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressList, isAddressOrCidr } from './address-list.ts';

test('a list has its addresses and networks, as sockets of either family name them', () => {
  const list = new AddressList(['10.1.0.0/16', '127.0.0.1', '2001:db8::/32']);
  const asked = '10.1.255.255 127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.1.0.9 2001:DB8:1::1'.split(' ');
  assert.deepEqual(
    asked.filter((address) => !list.includes(address)),
    [],
  );
  const others = '10.2.0.0 127.0.0.2 ::ffff:127.0.0.2 ::1 2001:db9::1 localhost'.split(' ');
  assert.deepEqual(
    [...others, '', undefined].filter((address) => list.includes(address)),
    [],
  );
  assert.equal(list.lastOutside(['9.9.9.9', ' 8.8.8.8', 'x', '10.1.0.1', '::ffff:127.0.0.1']), '8.8.8.8');
  assert.equal(list.lastOutside(['10.1.0.1', '127.0.0.1']), '10.1.0.1');
  const wrong = '0.0.0.0/0 ::/0 10.0.0.0/33 10.0.0.0/ 10.0.0.0/8/8 10.0.0 proxy ::1/129 10.0.0.1/-1'.split(' ');
  assert.deepEqual([...wrong, ''].filter(isAddressOrCidr), [], 'no network that is every address');
});

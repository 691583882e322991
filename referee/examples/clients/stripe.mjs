import Stripe from 'stripe';
import { calls, isSet, patient, url } from './calls.mjs';

const { protocol, hostname, port } = new URL(url);
const client = new Stripe('sk_test_x', {
  protocol: protocol.slice(0, -1),
  host: hostname,
  port,
  telemetry: false,
  ...(isSet && { maxNetworkRetries: 0 }),
});
const idempotencyKey = crypto.randomUUID();
const trying = (call) => (isSet ? patient(call) : call());
const get = (path) => trying(() => (path === '/pets' ? client.customers.list() : client.products.list()));
const post = () => trying(() => client.customers.create({ name: 'Rex' }, isSet ? { idempotencyKey } : {}));

await calls({ get, post });

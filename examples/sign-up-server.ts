/**
 * The backend of a sign-up page: gives each new customer a key of the free plan through the operator API.
 *
 *   PET_CATALOG_TOKEN=$(pet-catalog operators create --name sign-up --role keys) \
 *     node examples/sign-up-server.ts http://127.0.0.1:8081 3000
 *
 * `POST /sign-ups` with `{"customer": "cus_42", "name": "Cat Café"}` answers with the key, once. The customer's own id
 * is the key's owner, and part of the Idempotency-Key: a form that is sent twice within 24 hours gets the same key. A
 * real page authenticates the customer first.
 */
import { createServer, type IncomingMessage } from 'node:http';

const [operatorUrl, port] = process.argv.slice(2);
const token = process.env.PET_CATALOG_TOKEN;
if (!operatorUrl || !port || !token) {
  console.error('usage: PET_CATALOG_TOKEN=… sign-up-server.ts OPERATOR_URL PORT');
  process.exit(2);
}

const BODY_BYTES_MAX = 10_000;

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > BODY_BYTES_MAX) throw new SyntaxError('too long');
  }
  return JSON.parse(text);
}

/** Issues a key; the status and body to answer with. */
async function signUp(form: unknown): Promise<{ status: number; body: object }> {
  const { customer, name } = (form ?? {}) as { customer?: unknown; name?: unknown };
  if (typeof customer !== 'string' || !/^cus_\w{1,40}$/.test(customer) || typeof name !== 'string') {
    return { status: 400, body: { error: 'send a customer, such as cus_42, and a name' } };
  }
  const response = await fetch(`${operatorUrl}/api/v1/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': `sign-up-${customer}`,
    },
    body: JSON.stringify({ name, plan: 'free', owner: customer }),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = (await response.json()) as { key: string; limits: object; message: string };
  if (response.ok) return { status: 201, body: { key: answer.key, limits: answer.limits } };
  // The request id leads the operator from this line to the service's log.
  console.error(`no key for ${customer}: ${answer.message} (request ${response.headers.get('x-request-id')})`);
  if (response.status === 422) return { status: 409, body: { error: 'this customer signed up under another name' } };
  const isNameWrong = response.status === 400;
  return isNameWrong
    ? { status: 400, body: { error: answer.message } }
    : { status: 503, body: { error: 'try again in a minute' } };
}

/** The answer to any request. */
async function respond(request: IncomingMessage): Promise<{ status: number; body: object }> {
  if (request.method !== 'POST' || request.url !== '/sign-ups') return { status: 404, body: { error: 'not found' } };
  try {
    return await signUp(await readBody(request));
  } catch (error) {
    if (error instanceof SyntaxError) return { status: 400, body: { error: 'send JSON of at most 10 kB' } };
    console.error(error);
    return { status: 503, body: { error: 'try again in a minute' } };
  }
}

const server = createServer(async (request, response) => {
  const { status, body } = await respond(request);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}/sign-ups`);
});

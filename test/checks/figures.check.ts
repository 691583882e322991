import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nextBan } from '../../src/catalog/ban.ts';
import { PLANS } from '../../src/catalog/plan.ts';

const read = (file: string) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
/** A rate, or a comparison with a peer. */
const RATE = /\d (a second|requests\/s|creates\/s)|times (bare `node:http`|Express|Fastify|nginx)/;
/** Constants that others are multiples of. */
const UNITS: Readonly<Record<string, number>> = {
  MEBIBYTE: 1024 ** 2,
  MINUTE_SECONDS: 60,
  HOUR_SECONDS: 3_600,
  DAY_SECONDS: 86_400,
};

/** The constant of a module below `src/`, of which most are its own. */
function constant(file: string, name: string): number {
  const [, product] =
    new RegExp(`(?:const |[ {])${name}(?: =|: \\{ default:|:) '?([A-Z\\d_ *]+)`).exec(read(`src/${file}`)) ?? [];
  assert.ok(product, `${file} has no ${name}`);
  return product.split('*').reduce((value, factor) => {
    return value * (UNITS[factor.trim()] ?? Number(factor.replaceAll('_', '')));
  }, 1);
}

test('figures stand with the run that measured them, and not in the README', () => {
  const [, measured] = /^## In short\n\n(.+?)\n\n## /ms.exec(read('bench/results.md')) ?? [];
  assert.match(measured ?? '', RATE);
  assert.match(read('README.md'), /bench\/results\.md/);
  assert.doesNotMatch(read('README.md'), RATE);
});

test('bounds that pages name are those of the code', () => {
  const n = (value: number) => value.toLocaleString('en-US');
  const listener = (name: string) => constant('http/transport/listener.ts', name);
  const head = (name: string) => constant('http/transport/request.ts', name);
  const connection = (name: string) => constant('http/transport/connection.ts', name);
  const [url, body] = [head('URL_CHARACTERS_MAX'), constant('http/transport/body.ts', 'BODY_BYTES_MAX')];
  // A deadline is met at the next check.
  const within = (name: string) => Math.ceil((listener(name) + listener('checkIntervalMs')) / 1_000);
  const [items, byDefault] = ['PAGE_ITEMS_MAX', 'PAGE_ITEMS'].map((name) =>
    constant('http/operations/paging.ts', name),
  );
  const categories = n(constant('http/operations/categories.ts', 'PAGE_ITEMS_MAX'));
  const [quantity, stock] = [
    constant('catalog/order.ts', 'ORDER_QUANTITY_MAX'),
    constant('catalog/pet.ts', 'STOCK_MAX'),
  ];
  const hours = constant('catalog/idempotency.ts', 'IDEMPOTENCY_SECONDS') / 3_600;
  const send = ['SEND_MS_MIN', 'SEND_BYTES_PER_MS_MIN'].map((name) => constant('http/transport/exchange.ts', name));
  const bans: number[] = [];
  for (
    let last = null as ReturnType<typeof nextBan> | null;
    bans.length < 4;
    bans.push((last.endsAt - last.startedAt) / 60)
  )
    last = nextBan(last, { startedAt: last?.endsAt ?? 0, reason: '' });
  const [first, ...next] = bans;
  const sequence = `${next.slice(0, -1).join(', ')} and ${next.at(-1)}`;
  const redisMs = constant('limits/redis/link.ts', 'ANSWER_MS');
  const pages = 'src/http/docs/pages/';
  for (const [page, ...sentences] of [
    [
      `${pages}limits.md`,
      `body: ${body / 1_024} KiB, in at most ${n(constant('http/transport/body.ts', 'CHUNKS_MAX'))} chunks (413); address: ${n(url)} characters (414)`,
      `request line and headers: ${head('HEAD_BYTES_MAX') / 1_024} KiB, ${head('HEADERS_MAX')} headers (431)`,
      `time: ${within('headMs')} s for the headers, ${within('requestMs')} s for the whole request (408)`,
      `name\`: 1 to ${constant('catalog/resource.ts', 'maxLength')} characters`,
      `page: 1 to ${categories} categories; 1 to ${items} items of any other list, ${byDefault} if not given`,
      `quantity of an order: 1 to ${n(quantity)}; stock of a pet: 0 to ${n(stock)} (400)`,
      `printable ASCII characters, kept for ${hours} h (400)`,
      `categories: ${n(constant('config.ts', 'CATEGORIES_MAX'))}, and ${constant('config.ts', 'CATEGORIES_BYTES_MAX') / 1_024 ** 2} MiB of their list`,
      `connections: ${n(constant('config.ts', 'CONNECTIONS_MAX'))}, beyond which the oldest that waits for its client, or else the new one, is closed; an idle one is closed after ${listener('keepAliveMs') / 1_000} s`,
      `one of a connection runs, ${connection('WAITING_MAX')} wait;`,
      `take at most ${connection('WAITING_BYTES_MAX') / 1_024 ** 2} MiB, their bodies included`,
      `are being read included: ${constant('http/gates.ts', 'WRITES_MAX')}, then 503`,
      `unread responses: ${(send[0] ?? 0) / 1_000} s and a second for every ${send[1]} kB`,
      `writes that wait for the database: ${n(constant('storage/sql/write-queue.ts', 'WAITING_MAX'))}, then 503`,
      `The first ban lasts ${first} minute, the next ones ${sequence}.`,
      ...Object.entries(PLANS).map(([plan, { minute, day }]) => `| ${plan} | ${n(minute)} | ${n(day)} |`),
    ],
    [
      `${pages}errors.md`,
      `It is larger than ${n(body)} bytes, or comes in more than`,
      `together are longer than ${n(url)} characters.`,
      `within ${hours} hours.`,
    ],
    [`${pages}paging.md`, `up to ${items}, and ${byDefault} if you do not say; up to ${categories} for categories.`],
    [`${pages}retries.md`, `within ${hours} hours returns the first outcome`],
    ['README.md', `banned for ${first}, then ${sequence} minutes`, `replayed for ${hours} hours`],
    ['SECURITY.md', `then bans of ${first} to ${bans.at(-1)} minutes`],
    [
      'docs/cli.md',
      `(0 to ${constant('catalog/api-key.ts', 'ROTATION_GRACE_MAX_SECONDS') / 86_400} days, 24 h by default)`,
    ],
    ['docs/operator-api.md', `A retry within ${hours} hours`],
    ['docs/scaling.md', `Redis has ${redisMs} ms to answer.`],
  ] as const) {
    const text = read(page).replaceAll(/\s+/g, ' ');
    for (const sentence of sentences) assert.ok(text.includes(sentence), `${page} does not say “${sentence}”`);
  }
});

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { secretRecord } from '../../src/catalog/api-key.ts';
import { deleteCategory, renameCategory } from '../../src/catalog/operator/category-changes.ts';
import { issueToken, revokeToken } from '../../src/catalog/operator/token.ts';
import { VERSION } from '../../src/version.ts';
import { storeBan } from '../kit/bans.ts';
import { untilTrue } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';
import { addUsage } from '../kit/usage.ts';

/** The pages of the console, each as an operator without scripts reads it: words, links, fields, and their order. */

const DAY = 86_400;

/**
 * What a page says, line by line: links as `[text](address)`, fields as `{name=value}`, choices as
 * `{name: one|*chosen*}`, buttons as `(text)`, forms by their address, badges as `‹tone text›`.
 */
function linesOf(page: string): string[] {
  const [, main = ''] = /<main[^>]*>(.*?)<footer/s.exec(page) ?? [];
  return main
    .replaceAll(/<svg.*?<\/svg>|<input type="hidden"[^>]*>/gs, '')
    .replaceAll(/<option value="([^"]*)"( selected)?>([^<]*)<\/option>/g, (_, value, selected, label) => {
      const named = value === label ? label : `${label}=${value}`;
      return selected ? `|*${named}*` : `|${named}`;
    })
    .replaceAll(/<select id="\w+" name="(\w+)"[^>]*>\|?(.*?)<\/select>/g, '{$1: $2}')
    .replaceAll(/<input [^>]*name="(\w+)"[^>]*?value="([^"]*)"([^>]*)>/g, (_, name, value, rest) =>
      rest.includes(' checked') ? `{*${name}=${value}*}` : `{${name}=${value}}`,
    )
    .replaceAll(/<button[^>]*>(.*?)<\/button>/g, '($1)')
    .replaceAll(/<form method="post" action="\/console([^"]*)"[^>]*>/g, '$1: ')
    .replaceAll(/<a [^>]*?href="\/console([^"]*)"[^>]*>(.*?)<\/a>/g, '[$2]($1)')
    .replaceAll(/<span class="badge ?(\w*)"[^>]*>(.*?)<\/span>/g, '‹$1 $2›')
    .replaceAll(/<(del|ins)>(.*?)<\/\1>/g, (_, kind, text) => `${kind === 'del' ? '−' : '+'}${text}`)
    .replaceAll(/<\/(?:p|h1|h2|tr|dd|form|fieldset)>|<\/div>\n/g, '\n')
    .replaceAll(/<\/(?:th|td|dt|label|li|summary)>/g, ' · ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/(?:key|op|session)_\w{16}|session_\w{12}(?=…)/g, 'ID')
    .replaceAll(/petcat_(live|op)_\w+/g, 'petcat_$1_X')
    .replaceAll(/(started|up for) \d+ \w+/g, '$1 N s')
    .replaceAll(/\d+ of [\d,]+ descriptors/g, 'N descriptors')
    .replaceAll(hostname(), 'HOST')
    .replaceAll(VERSION, 'VERSION')
    .replaceAll(/http:\/\/[\d.]+:\d+/g, 'URL')
    .replaceAll('&amp;', '&')
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\s+/g, ' ')
        .replace(/[ ·]+$/, '')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** A little of everything, at 12:02:30 of the day. */
async function filled(service: TestService): Promise<string> {
  const { storage, clock } = service;
  const by = { actor: 'dana', via: 'console' } as const;
  const now = () => clock.now().unix;
  const { key } = await service.issue({ name: 'shop', owner: 'cus_1', expiresAt: now() + 20 * DAY });
  const keyId = key.id;
  clock.advance(60);
  const limits = { minute: 5_000, day: 90_000 };
  await storage.keys.update(keyId, { plan: 'enterprise', limits, scopes: ['pets:read', 'pets:write'] }, by);
  const oldEndAt = now() + 3_600;
  await storage.keys.rotate(keyId, secretRecord('petcat_live_other'), { now: now(), oldEndAt, by });
  clock.advance(60);
  const at = now();
  const counts = { served: 1_200, clientErrors: 3, refused: 2, serverErrors: 1 };
  await addUsage(storage, at, [{ keyId, ...counts, first: at, last: at }]);
  const spent = { minuteEnds: at + 60, minuteUsed: 5_000, day: Math.floor(at / DAY), dayUsed: 1_206 };
  await storage.limits.saveCounts([{ keyId, ...spent }]);
  await storeBan(storage, { keyId, startedAt: at, endsAt: at + 300, level: 2, reason: 'hasty' });
  const origin = { keyId };
  await storage.categories.insert({ name: 'Dog', description: 'Loyal' }, origin);
  for (const name of ['Cat', 'Eel']) await storage.categories.insert({ name }, origin);
  await storage.categories.import([{ name: 'Bird' }], by, () => {});
  await renameCategory({ storage, by }, 2, 'Cats');
  await deleteCategory({ storage, by }, 3);
  const { resource: rex } = await storage.pets.insert({ name: 'Rex', categoryId: 1, status: 'available' }, origin);
  await storage.pets.insert({ name: 'Minka', categoryId: 2, status: 'pending' }, origin);
  await storage.pets.setQuantity(rex.id, 2_007);
  await storage.orders.insert({ petId: rex.id, quantity: 3, shipDate: '2026-01-01T12:02:10Z' }, origin);
  await storage.orders.insert({ petId: rex.id, quantity: 1_000 }, origin);
  const context = { storage, now: at, by };
  await issueToken(context, { name: 'billing', role: 'keys' });
  await issueToken(context, { name: 'short', role: 'viewer', expiresAt: at + 30 });
  const { token } = await issueToken(context, { name: 'gone', role: 'admin' });
  await revokeToken(context, token.id);
  clock.advance(30);
  return keyId;
}

/** What each page says of that; KEY is the id of the key. */
const SAID: Readonly<Record<string, string>> = {
  '/audit?since=all': `Audit
[CSV](/audit/export?since=all)
Every change made by an operator, in the console, on the command line or through the API. Entries cannot be edited. Starts, failures and backups are [events of the service](/audit?target=service&since=all).
Changed from or to · {q=}Actor · {actor=}Action · {action: *any=*|key.create|key.update|key.rotate|key.end-graces|key.revoke|ban.lift|category.rename|category.delete|categories.import|operator.create|operator.revoke|console.open|console.revoke|clock.turn}Target (id) · {target=}Since · {since: last 24 hours=24h|last 7 days=7d|last 30 days=30d|*all time=all*}(Show)[Reset](/audit)
When · Actor · Action · Target · Change
2026-01-01 12:02:30 UTC · [operator](/audit?actor=operator) console · console.open · [ID…](/sessions) · role: +admin · endsAt: +2026-01-02T00:02:30Z
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · operator.revoke · [ID](/tokens) · revokedAt: +2026-01-01T12:02:00Z
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · operator.create · [ID](/tokens) · +gone, +admin · name: +gone · role: +admin · expiresAt: +none
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · operator.create · [ID](/tokens) · +short, +viewer · name: +short · role: +viewer · expiresAt: +2026-01-01T12:02:30Z
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · operator.create · [ID](/tokens) · +billing, +keys · name: +billing · role: +keys · expiresAt: +none
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · category.delete · category 3 · id: −3 · name: −Eel
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · category.rename · [category 2](/categories/2) · name: −Cat +Cats
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · categories.import · [categories](/categories) · +1, +4 · count: +1 · firstId: +4 · lastId: +4
2026-01-01 12:01:00 UTC · [dana](/audit?actor=dana) console · key.rotate · [ID](/keys/ID) · prefix: −petcat_live_X +petcat_live_X · oldEndsAt: +2026-01-01T13:01:00Z
2026-01-01 12:01:00 UTC · [dana](/audit?actor=dana) console · key.update · [ID](/keys/ID) · plan: −free +enterprise · limits: −60 per minute, 1000 per day +5000 per minute, 90000 per day · scopes: −categories:read, categories:write, pets:read, pets:write, store:read, store:write +pets:read, pets:write
2026-01-01 12:00:00 UTC · [test](/audit?actor=test) command line · key.create · [ID](/keys/ID) · +shop, +free · name: +shop · plan: +free · limits: +60 per minute, 1000 per day · scopes: +categories:read, categories:write, pets:read, pets:write, store:read, store:write · expiresAt: +2026-01-21T12:00:00Z · owner: +cus_1`,
  '/categories': `Categories
[Import a file](/categories/import)
Name, description or id · {q=}(Show)
Name · Id · Description · Linked
[Dog](/categories/1) · 1 · Loyal · [Pets](/pets?category=1)
[Cats](/categories/2) · 2 · none · [Pets](/pets?category=2)
[Bird](/categories/4) · 4 · none · [Pets](/pets?category=4)
Export
All categories in one file, which can be imported again.
[JSON](/categories/export?format=json)[NDJSON](/categories/export?format=ndjson)[CSV](/categories/export?format=csv)`,
  '/categories/2': `[Categories](/categories)
Cats
[Delete](/categories/2/delete)
Id · 2
Description · none
Pets · [Pets of this category](/pets?category=2)
/categories/2: Name · {name=Cats}
(Rename)
History
When · Actor · Action · Change
2026-01-01 12:02:00 UTC · [dana](/audit?actor=dana) console · category.rename · name: −Cat +Cats`,
  '/categories/2/delete': `[Categories](/categories) [Cats](/categories/2)
Delete the category?
Cats is deleted permanently, unless a pet belongs to it. Its id, 2, is never reused.
/categories/2/delete: (Delete the category)[Keep it](/categories/2)`,
  '/categories/import': `[Categories](/categories)
Import categories
Adds all categories of the file, or none if one of them is invalid.
/categories/import:
File
JSON: an array of objects. NDJSON: one object per line. CSV: the columns name and description; one ' at the beginning of a cell is removed. UTF-8, up to 32 MiB.
Format · {format: from the file name=|JSON=json|NDJSON=ndjson|CSV=csv}
(Import)[Cancel](/categories)`,
  '/pets': `Pets
Status · {status: *any=*|available|pending|sold}Category (id) · {category=}(Show)
Name · Id · Status · Category · Stock · Linked
[Rex](/pets/1) · 1 · ‹good available› · [Dog](/categories/1) · 1,004 · [Orders](/orders?pet=1)
[Minka](/pets/2) · 2 · ‹warning pending› · [Cats](/categories/2) · 1 · [Orders](/orders?pet=2)`,
  '/pets/1': `[Pets](/pets)
Rex ‹good available›
Id · 1
Category · [Dog](/categories/1)
In stock · 1,004
Orders
Order · State · Pet · Quantity · Ships
no. 1 · ‹good complete› · [Rex](/pets/1) pet 1 · 3 · 2026-01-01 12:02 UTC
no. 2 · ‹warning open› · [Rex](/pets/1) pet 1 · 1,000 · no date`,
  '/orders?pet=1': `Orders
Pet (id) · {pet=1}(Show)[Reset](/orders)
Order · State · Pet · Quantity · Ships
no. 1 · ‹good complete› · [Rex](/pets/1) pet 1 · 3 · 2026-01-01 12:02 UTC
no. 2 · ‹warning open› · [Rex](/pets/1) pet 1 · 1,000 · no date`,
  '/tokens': `Tokens
Programs use the operator API with a token. The audit names it for each change.
Name · State · Token · Role · Created · Action
gone · ‹ revoked› · petcat_op_X… · admin · 2026-01-01 12:02 UTC
short · ‹ expired› · petcat_op_X… · viewer · 2026-01-01 12:02 UTC · /tokens/ID/revoke: (Revoke)
billing · ‹good active› · petcat_op_X… · keys · 2026-01-01 12:02 UTC · /tokens/ID/revoke: (Revoke)
New token
/tokens: Name · {name=}
Role · {role: viewer|keys|admin}
A viewer reads; keys also issues and changes keys and lifts bans; admin does everything.
Works for · {life: *ever=*|30 days=30|90 days=90|a year=365}
(Create the token)`,
  '/sessions': `Sessions
Open sessions of the console: 1. A session ends after twelve hours, after an hour without use, or when you end it here. A page that updates by itself does not count as use. Programs have [tokens](/tokens).
Opened by · Role · Opened · Last used · Ends · Action
operator ‹ this one› · admin · 2026-01-01 12:02 UTC · 2026-01-01 12:02 UTC · 2026-01-02 00:02 UTC · /sessions/ID/end: (End)
Another operator needs the console?
pet-catalog console login prints a link that opens another session; with --role viewer one that can only look.`,
  '/keys?sort=oldest': `Keys
[New key](/keys/new)
Name, owner, id or prefix · {q=}State · {state: *any=*|active|expired|revoked|banned}Plan · {plan: *any=*|free|pro|business|enterprise}Expires · {expires: *any=*|next 7 days=7d|next 30 days=30d|next 90 days=90d}Order · {sort: newest first=newest|*oldest first=oldest*|name|last used=last-used|next expiry=expiry}(Show)
1 to 1 of 1 key
[CSV](/keys/export)
[Key](/keys?sort=name) · State · Plan · Owner · Requests, last hour · [Last used](/keys?sort=last-used) · [Created](/keys?sort=newest)
[shop](/keys/ID)petcat_live_X… · ‹danger banned›until 2026-01-21 · enterprise · [cus_1](/owner?owner=cus_1) · 1,206 · 2026-01-01 12:02 UTC · 2026-01-01 12:00 UTC`,
  '/keys/KEY?done=changed': `The key was changed. The change takes effect within a second.
[Keys](/keys)
shop ‹danger banned›
[Change](/keys/ID/edit)[Rotate](/keys/ID/rotate)[Revoke](/keys/ID/revoke)
Banned for another 5 min, until 2026-01-01 12:07 UTC
It was hasty. This is ban number 2 in a row; each lasts longer than the one before, until a day passes without a ban.
/keys/ID/unban: (Lift the ban)
The old secret ends 2026-01-01 13:01 UTC, in 59 min
The key was rotated. petcat_live_X… works until then, and both secrets share one quota.
/keys/ID/end-graces: (End it now)
Key · petcat_live_X…
Id · ID
Plan · enterprise: 5,000 a minute, 90,000 a day
Scopes · pets:read, pets:write
Environment · production
Owner · [cus_1](/owner?owner=cus_1)
Created · 2026-01-01 12:00 UTC by [test](/audit?actor=test) command line
Last used · 2026-01-01 12:02 UTC
Expires · 2026-01-21 12:00 UTC
[Recent requests](/requests?key=ID) · [Why was it refused?](/requests/why?q=ID)
Used this minute
5,000 of 5,000
Used today (UTC)
1,206 of 90,000
Its limit is used up: requests are refused until 2026-01-01 12:03 UTC.
[1 h](/keys/ID?range=1h#range-links) · [6 h](/keys/ID?range=6h#range-links) · [24 h](/keys/ID?range=24h#range-links) · [30 d](/keys/ID?range=30d#range-links) · [1 y](/keys/ID?range=1y#range-links)
Requests in the last hour
1,200 served3 client errors2 refused1 server errorslimit 5,000
requests per minute
8,0006,0004,0002,0000
11:0311:1811:3311:4812:03
times in UTC
Show as a table
Start of the minute · Served · Client errors · Refused · Server errors
2026-01-01 12:02 UTC · 1,200 · 3 · 2 · 1
Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.
[most requests](/keys/ID?sort=requests#sort-links) · [most refused](/keys/ID?sort=refused#sort-links) · [most errors](/keys/ID?sort=errors#sort-links)
Busiest routes in the last hour, whole hours
Route · Requests · Client errors · Refused · Server errors · Last request
GET /v1/categories · 1,206 · 3 · 2 · 1 · 2026-01-01 12:02 UTC
Requests with a key, of all instances, within a minute.
Bans
Start · End · In a row · Reason
2026-01-01 12:02:00 UTC · 2026-01-01 12:07:00 UTC ‹danger active› · 2 · hasty
Changes by operators
When · Actor · Action · Change
2026-01-01 12:01:00 UTC · [dana](/audit?actor=dana) console · key.rotate · prefix: −petcat_live_X +petcat_live_X · oldEndsAt: +2026-01-01T13:01:00Z
2026-01-01 12:01:00 UTC · [dana](/audit?actor=dana) console · key.update · plan: −free +enterprise · limits: −60 per minute, 1000 per day +5000 per minute, 90000 per day · scopes: −categories:read, categories:write, pets:read, pets:write, store:read, store:write +pets:read, pets:write
2026-01-01 12:00:00 UTC · [test](/audit?actor=test) command line · key.create · +shop, +free · name: +shop · plan: +free · limits: +60 per minute, 1000 per day · scopes: +categories:read, categories:write, pets:read, pets:write, store:read, store:write · expiresAt: +2026-01-21T12:00:00Z · owner: +cus_1`,
  '/keys/KEY/edit': `[Keys](/keys) [shop](/keys/ID)
Change the key
/keys/ID/edit: Name
{name=shop}
Who uses the key, or what it is for.
Owner
{owner=cus_1}
The customer's own id, if there is one.
Plan
{plan: free: 60 a minute, 1,000 a day=free|pro: 300 a minute, 10,000 a day=pro|business: 1,000 a minute, 100,000 a day=business|*enterprise: custom limits=enterprise*}
Limits of the enterprise plan
Requests per minute
{perMinute=5000}
Requests per day
{perDay=90000}
Scopes{scopes=categories:read} categories:read · {scopes=categories:write} categories:write · {*scopes=pets:read*} pets:read · {*scopes=pets:write*} pets:write · {scopes=store:read} store:read · {scopes=store:write} store:write
Last day
{expires=2026-01-21}
The key expires at the end of this day, in UTC. Leave it empty for a key that does not expire.
(Save)[Cancel](/keys/ID)`,
  '/keys/new': `New key
/keys: Name
{name=}
Who uses the key, or what it is for.
Owner
{owner=}
The customer's own id, if there is one.
Plan
{plan: *free: 60 a minute, 1,000 a day=free*|pro: 300 a minute, 10,000 a day=pro|business: 1,000 a minute, 100,000 a day=business|enterprise: custom limits=enterprise}
Limits of the enterprise plan
Requests per minute
{perMinute=}
Requests per day
{perDay=}
Scopes{*scopes=categories:read*} categories:read · {*scopes=categories:write*} categories:write · {*scopes=pets:read*} pets:read · {*scopes=pets:write*} pets:write · {*scopes=store:read*} store:read · {*scopes=store:write*} store:write
Last day
{expires=}
The key expires at the end of this day, in UTC. Leave it empty for a key that does not expire.
(Create the key)[Cancel](/keys)`,
  '/keys/KEY/rotate': `[Keys](/keys) [shop](/keys/ID)
Rotate the key
A new key replaces petcat_live_X…. Plan, limits and scopes stay the same, and both keys share one quota while the old one still works.
/keys/ID/rotate: How long the old key still works · {grace: Not at all: the old key stops at once=0|1 hour=3600|*24 hours=86400*|7 days=604800|30 days=2592000}A key that leaked: not at all.
(Create the new key)[Cancel](/keys/ID)`,
  '/keys/KEY/revoke': `[Keys](/keys) [shop](/keys/ID)
Revoke the key?
Every request with shop (petcat_live_X…) will be refused. This cannot be undone.
It made 1,206 requests in the last 24 hours, the last one 2026-01-01 12:02 UTC. To replace it without downtime, [rotate it](/keys/ID/rotate) instead.
/keys/ID/revoke: (Revoke the key)[Keep it](/keys/ID)`,
  '/owner?owner=cus_1&sort=refused': `[Keys](/keys)
cus_1
[CSV by month](/owner/export?owner=cus_1)
[1 key of this owner](/keys?owner=cus_1)
[1 h](/owner?owner=cus_1&sort=refused&range=1h#range-links) · [6 h](/owner?owner=cus_1&sort=refused&range=6h#range-links) · [24 h](/owner?owner=cus_1&sort=refused&range=24h#range-links) · [30 d](/owner?owner=cus_1&sort=refused&range=30d#range-links) · [1 y](/owner?owner=cus_1&sort=refused&range=1y#range-links)
Requests in the last hour
1,200 served3 client errors2 refused1 server errors
requests per minute
2,0001,5001,0005000
11:0311:1811:3311:4812:03
times in UTC
Show as a table
Start of the minute · Served · Client errors · Refused · Server errors
2026-01-01 12:02 UTC · 1,200 · 3 · 2 · 1
Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.
[most requests](/owner?owner=cus_1&sort=requests#sort-links) · [most refused](/owner?owner=cus_1&sort=refused#sort-links) · [most errors](/owner?owner=cus_1&sort=errors#sort-links)
Most refused keys in the last hour
Key · Requests · Client errors · Refused · Server errors · Last request
[shop](/keys/ID) · 1,206 · 3 · 2 · 1 · 2026-01-01 12:02 UTC
Most refused routes in the last hour, whole hours
Route · Requests · Client errors · Refused · Server errors · Last request
GET /v1/categories · 1,206 · 3 · 2 · 1 · 2026-01-01 12:02 UTC
Requests with a key, of all instances, within a minute.`,
  '/requests?key=shop': `Requests
[Why was it refused?](/requests/why)[Pause](/requests?key=shop&paused=1)
The latest requests with a key, newest first. [Reload](/requests?key=shop) to see newer ones.
Key: name, owner, id or prefix · {key=shop}
Status · {status: *any=*|served (2xx, 3xx)=served|refused (429)=refused|client errors (4xx but 429)=client-errors|server errors (5xx)=server-errors|200|201|204|304|400|403|404|405|408|409|410|412|413|414|415|417|422|429|431|500|501|503|505}
Route · {route: *any=*|/v1/categories|/v1/categories/{categoryId}|/v1/pets|/v1/pets/{petId}|/v1/store/orders|/v1/store/orders/{orderId}|/v1/inventory|/v1/inventory/{petId}|/v1/rate_limit|no such address=unmatched}
(Show)
No kept request fits these filters. [Show all](/requests)
Time · Status · Route · Key · Duration · Request id
Kept in the memory of this instance since it started N s ago: of each key the latest 200 refusals and errors, of one minute the first and the last ten refusals, and the latest 200 other answers.`,
  '/requests/why?q=KEY': `[Requests](/requests)
Why was this refused?
Request id, or name, owner, id or prefix of a key
{q=ID}(Explain)
Every answer has its request id in the header X-Request-Id.
[shop](/keys/ID) ‹danger banned› plan enterprise: 5,000 a minute, 90,000 a day
[Change](/keys/ID/edit)[Rotate](/keys/ID/rotate)[Revoke](/keys/ID/revoke)
Banned for another 5 min, until 2026-01-01 12:07 UTC
It was hasty. This is ban number 2 in a row; each lasts longer than the one before, until a day passes without a ban.
/keys/ID/unban: (Lift the ban)
This instance keeps no refused or failed request of this key.
When it was refused by minute, in the last 2 days, on all instances
When · Why · Refused · Served
2026-01-01 12:02 UTC · banned in this minute · 2 · 1,200
Used this minute
5,000 of 5,000
Used today (UTC)
1,206 of 90,000
Its limit is used up: requests are refused until 2026-01-01 12:03 UTC.
Latest refusals and errors of this instance
None is kept.
[All recent requests of the key](/requests?key=ID)
Bans
Start · End · In a row · Reason
2026-01-01 12:02:00 UTC · 2026-01-01 12:07:00 UTC ‹danger active› · 2 · hasty
Kept in the memory of this instance since it started N s ago: of each key the latest 200 refusals and errors, of one minute the first and the last ten refusals, and the latest 200 other answers.`,
  '': `Overview
[Reload](?range=1h)
Health of this instance
Database · ‹good up›
Redis · ‹ not used› This instance counts alone.
Last backup · ‹ not scheduled› This instance makes none: set BACKUP_DIR, or on PostgreSQL use its own tools.
How full · 0 of 0 categories; their list 0 bytes of 0 bytes; database 0 bytes; 0 bytes free on its disk; N descriptors
Checks · Run pet-catalog doctor
Version · VERSION. It does not look for newer ones; the upgrade is a chapter of docs/operations.md.
This instance · on HOST, production, up for N s: events
API · URL/v1
Now on this instance: per second in the last 10 s, durations in the last minute
Served /s · [0](?sort=requests#sort-links)
Client errors (4xx) /s · [0](?sort=errors#sort-links)
Refused (429) /s · [0](?sort=refused#sort-links)
Server errors (5xx) /s · [0](?sort=errors#sort-links)
Median (p50) · –
99 of 100 within (p99) · –
Banned now ‹danger 1› on all instances
[shop](/keys/ID) is banned for another 5 min, until 2026-01-01 12:07 UTC
It was hasty. [Why was it refused?](/requests/why?q=ID)
/keys/ID/unban: (Lift the ban)
[1 h](?range=1h#range-links) · [6 h](?range=6h#range-links) · [24 h](?range=24h#range-links) · [30 d](?range=30d#range-links) · [1 y](?range=1y#range-links)
Requests in the last hour
0 served0 client errors0 refused0 server errors
No requests in the last hour.
Show as a table
Start of the minute · Served · Client errors · Refused · Server errors
No requests in the last hour.
All requests to the API, with and without a key. Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.
Duration in the last hour
p50: –p99: –
No requests in the last hour.
Show as a table
Start of the minute · p50, ms · p99, ms
No requests in the last hour.
From the head of a request to its response, estimated from 14 classes. Of all instances and all outcomes.
[most requests](?sort=requests#sort-links) · [most refused](?sort=refused#sort-links) · [most errors](?sort=errors#sort-links)
Busiest keys in the last hour
[by key](#by-links) · [by owner](?by=owner#by-links)
Key · Owner · Requests · Client errors · Refused · Server errors · Last request
[shop](/keys/ID) · [cus_1](/owner?owner=cus_1) · 1,206 · 3 · 2 · 1 · 2026-01-01 12:02 UTC
Busiest routes in the last hour
None in the last hour.
Of all instances, with and without a key.
Events of all instances, of any release; [all events](/audit?target=service&since=all), and [what operators changed](/audit)
None yet.`,
};

test('every page says what is there, and leads and offers to do what it should', async () => {
  await using service = await testService();
  const key = await filled(service);
  const operator = await signIn(service);
  for (const [path, said] of Object.entries(SAID)) {
    let lines: string[] = [];
    await untilTrue(async () => {
      lines = linesOf(await operator.page(path.replace('KEY', key)));
      return !lines.some((line) => line.includes('Being added up'));
    });
    assert.deepEqual(lines, said.split('\n'), path);
  }
});

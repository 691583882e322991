import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeMake } from './stranger.ts';
import { WRONG } from './wrong.ts';

/** What a builder of a wrong server reads. */
const SEEN = new Map(
  String.raw`
Limit of 120, 60 admitted => limits.429-over-limit: only 60 requests of a fresh key were admitted; Limit is 120
Limit of 40, 60 admitted => limits.429-over-limit: 60 requests were admitted; Limit is 40
61 admitted => limits.last-token: 2 of 16 requests at once were admitted, with 1 left
59 admitted => limits.429-over-limit: only 59 requests of a fresh key were admitted; Limit is 60; limits.remaining-true: 58 requests were admitted after an answer with Remaining: 59
63 admitted => limits.last-token: 4 of 16 requests at once were admitted, with 1 left
30 admitted => limits.429-over-limit: only 30 requests of a fresh key were admitted; Limit is 60; limits.remaining-true: 29 requests were admitted after an answer with Remaining: 59
Remaining a constant 59 => limits.remaining-true: 58 requests were admitted after an answer with Remaining: 59
Remaining a constant 1 => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 1
Remaining a constant 0 => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 0
Remaining one too many => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 60
Remaining one too few => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 58
Remaining falls by two => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 58
Remaining is what was used => limits.remaining-true: 59 requests were admitted after an answer with Remaining: 1
Limit and Remaining swapped => limits.last-token: 2 of 16 requests at once were admitted, with 1 left; limits.remaining-true: 59 requests were admitted after an answer with Remaining: 60; limits.refused-limit: Limit is 0 on a refusal
nothing is ever refused => limits.429-over-limit: 101 requests were admitted and none refused; Limit is 60
three at the last token => limits.last-token: 4 of 16 requests at once were admitted, with 1 left
a bucket that gives twice what it says => limits.429-over-limit: 102 requests were admitted and none refused; Limit is 60
Limit 0 on a refusal => limits.refused-limit: Limit is 0 on a refusal
Reset in ms => limits.reset-unix-time: 1767268860000 is no Unix time in seconds
Reset in ms on a refusal alone => limits.reset-unix-time: 1767268860000 is no Unix time in seconds
Reset as seconds from now => limits.reset-unix-time: 60 is no Unix time in seconds
Reset as seconds from now on a refusal => limits.reset-unix-time: 60 is no Unix time in seconds
Reset over => limits.reset-unix-time: Reset is 40 s before the request
Reset over on a refusal alone => limits.reset-unix-time: the Reset of a refusal is 40 s over, though it is to be waited for
Reset over on a 404 alone => limits.reset-unix-time: Reset is 40 s before the request
Reset now on a refusal => limits.reset-unix-time: the Reset of a refusal is 0 s over, though it is to be waited for
Reset as a date => limits.headers-on-200: X-RateLimit-Reset is no whole number
Reset with a fraction => limits.headers-on-200: X-RateLimit-Reset is no whole number
Reset 0 => limits.reset-unix-time: 0 is no Unix time in seconds
Reset in ten years => limits.reset-unix-time: Reset is 315360060 s after the request
Limit with its window => limits.headers-on-200: X-RateLimit-Limit is no whole number
no Limit on a 200 => limits.headers-on-200: X-RateLimit-Limit is missing
no Remaining on a 201 => limits.headers-on-201: X-RateLimit-Remaining is missing
no Reset on a 400 => limits.headers-on-400: X-RateLimit-Reset is missing
no Limit on a 401 => limits.headers-on-401: X-RateLimit-Limit is missing
no Remaining on a 429 => limits.headers-on-429: X-RateLimit-Remaining is missing
no Limit on a 405 => limits.headers-on-405: X-RateLimit-Limit is missing
no Limit on a 413 => limits.headers-on-413: X-RateLimit-Limit is missing
X-Rate-Limit-… => limits.headers-on-200: X-RateLimit-Limit is missing
Retry-After 58.5 => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
Retry-After below zero => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
Retry-After an ISO date => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
Retry-After a Unix time => limits.retry-after-is-a-wait: Retry-After is a wait of 1767268860 s
Retry-After in ms => limits.retry-after-is-a-wait: Retry-After is a wait of 60000000 s
Retry-After with a unit => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
Retry-After empty => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
Retry-After a date of another form => limits.retry-after-is-a-wait: Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)
no Retry-After => limits.retry-after-present: Retry-After is missing
Retry-After 1, whatever is left => limits.retry-after-suffices: still refused 1 s later
Retry-After 0 => limits.retry-after-suffices: still refused 0 s later
Retry-After a date that is over => limits.retry-after-suffices: still refused 0 s later
Retry-After and Reset too short => limits.retry-after-suffices: still refused 28 s later
403 over the limit => limits.429-over-limit: the status of a refusal is 403
503 over the limit => limits.429-over-limit: 60 requests were admitted and none refused; Limit is 60
a list in an object => list.200-array: the body is no JSON array
a list as text => list.200-array: the body is no JSON array
a list of names => list.200-array: item 0 is no object
null in a list => list.200-array: item 1 is no object
a list with a comma at its end => list.200-array: item 1 is no JSON
a list that is cut off => list.200-array: the body is no whole JSON array
JSON lines => list.200-array: the body is no JSON array
a list is 206 => list.200-array: the status is 206, not 200
a list without names => list.200-array: item 0 has no name of a category
a list without ids => list.200-array: item 0 has no id of a category
a list of 10 => list.every-category: 11 categories are missing in the list or differ there, among them {"id":"11","name":"N-11"}
a list of the last 15 => list.every-category: 6 categories are missing in the list or differ there, among them {"id":"1","name":"N-1"}
a list without the newest => list.every-category: 1 categories are missing in the list or differ there, among them {"id":"21","name":"N-21"}
a list with one twice => create.ids-unique: an id is twice in the list: {"id":"1","name":"N-1","description":"A species"}
a list that drops descriptions => list.every-category: 10 categories are missing in the list or differ there, among them {"id":"2","name":"N-2","description":"The description of N-2"}
a list in capitals => list.every-category: 21 categories are missing in the list or differ there, among them {"id":"1","name":"N-1"}
a list with other ids => list.every-category: 21 categories are missing in the list or differ there, among them {"id":"1","name":"N-1"}
ids of the list as text => create.id-integer: an id in the list is no integer of 64 bits: {"id":"1","name":"N-1"}
a list that never changes => list.every-category: 20 categories are missing in the list or differ there, among them {"id":"1","name":"N-1"}
a list that mixes up names => list.every-category: 21 categories are missing in the list or differ there, among them {"id":"1","name":"N-1"}
a list for everybody => auth.401-missing: the status is 200, not 401
a create is 200 => create.201-new-id: the status is 200, not 201
a create is 202 => create.201-new-id: the status is 202, not 201
a create without a body => create.201-new-id: the body has no id
a create with an array => create.201-new-id: the body has no id
a create without id => create.201-new-id: the body has no id
an id of null => create.id-integer: the id of a create is no integer of 64 bits
ids as text => create.id-integer: the id of a create is no integer of 64 bits
ids with a fraction => create.id-integer: the id of a create is no integer of 64 bits
ids beyond 64 bits => create.id-integer: the id of a create is no integer of 64 bits
UUIDs => create.id-integer: the id of a create is no integer of 64 bits
one id for all => create.ids-unique: an id is twice in the list: {"id":"7","name":"N-2 é ß 猫 🐕","description":"A \"species\"\\breed, <b>& more</b>"}
ids that wrap at 8 => create.ids-unique: the id 1 was given twice
the id of the client => create.id-by-service: the client's id was taken
names in capitals => create.every-field: the name differs
names of ASCII => create.every-field: letters that are not ASCII differ
names cut at 20 => create.every-field: the name differs; list.every-category: 20 categories are missing in the list or differ there, among them {"id":"2","name":"N-2"}
names as HTML => create.every-field: quotes or angle brackets differ
no description kept => create.every-field: the description differs
a description of null => create.description-absent: the description of a create is no string
a title for a name => create.every-field: the name differs
created and not kept => list.every-category: 21 categories are missing in the list or differ there, among them {"id":"3","name":"N-3"}
every third create is lost => list.every-category: 7 categories are missing in the list or differ there, among them {"id":"3","name":"N-3"}
a name is not needed => create.400-without-name: the status is 201, not 400
numbers are names => create.400-invalid-values: the status is 201, not 400
null is a name => create.400-invalid-values: the status is 201, not 400
true is a name => create.400-invalid-values: the status is 201, not 400
an array is a name => create.400-invalid-values: the status is 201, not 400
a number is a description => create.400-invalid-values: the status is 201, not 400
several at once => create.400-invalid-values: the status is 201, not 400
cut JSON is read => create.400-bad-json: the status is 201, not 400
an empty body creates => create.400-bad-json: the status is 201, not 400
422 for what is invalid => create.400-without-name: the status is 422, not 400
500 for what is invalid => create.400-without-name: the status is 500, not 400
200 for what is invalid => create.400-without-name: the status is 200, not 400
a valid name is refused => create.every-field: the status is 400
every create is refused => create.201-new-id: the status is 400, not 201
400, and created => create.refused-creates-nothing: a create was answered with 400 and is in the list
missing keys are 403 => auth.401-missing: the status is 403, not 401
wrong keys are 403 => auth.401-invalid: the status is 403, not 401
any key will do => auth.401-invalid: the status is 200, not 401
the beginning of a key will do => auth.401-invalid: the status is 200, not 401
a key that is cut will do => auth.401-invalid: the status is 200, not 401
an empty key will do => auth.401-missing: the status is 200, not 401
401, and created => create.refused-creates-nothing: a create was answered with 401 and is in the list
a redirect to a login for creates => auth.401-missing: the status is 302, not 401
errors without code => errors.shape: the body of an error has no code, or one that is no string
errors without message => errors.shape: the body of an error has no message, or one that is no string
errors without status => errors.shape: the body of an error has no status
a code that is a number => errors.shape: the body of an error has no code, or one that is no string
a message that is a list => errors.shape: the body of an error has no message, or one that is no string
errors in an object => errors.shape: the body of an error has no code, or one that is no string
a status as text => errors.status-integer: the status in a body is no integer
a status of 0 => errors.status-equals-http: the body of a 401 says 0
a status of 400 for 404 => errors.status-equals-http: the body of a 404 says 400
HTML for 401 => errors.shape: the body is HTML or XML, not JSON
HTML for 404 => errors.shape: the body is HTML or XML, not JSON
text for 400 => errors.shape: the body is no JSON
empty 401 => errors.shape: there is no body
errors as problem+json => bodies.application-json: Content-Type is application/problem+json
lists as text/json => bodies.application-json: Content-Type is text/json
no Content-Type for a create => bodies.application-json: Content-Type is missing
application/jsonp => bodies.application-json: Content-Type is application/jsonp
silence for bad JSON => create.refused-creates-nothing: no answer: socket hang up, to POST /categories
`
    .trim()
    .split('\n')
    .map((line) => line.split(' => ') as [string, string]),
);
/** Rules that ask for the answers by which others judge. */
const COMPANY = ['create.every-field', 'limits.headers-on-404', 'limits.headers-on-429'];

/** By some rules alone; the slow tests judge by all of them. */
describe('the referee blames, by the right rule and in these words,', () => {
  for (const [name, { make, rules, isFull = false }] of Object.entries(WRONG)) {
    test(name, async () => {
      const needsCompany = rules.some((id) => id === 'limits.reset-unix-time' || id === 'create.ids-unique');
      const { report } = await judgeMake(make, { isFull, only: [...rules, ...(needsCompany ? COMPANY : [])] });
      const seen = report.rules
        .filter(({ id, verdict }) => verdict === 'failed' && rules.includes(id))
        .map(({ id, seen }) => `${id}: ${seen?.replaceAll(/conformance-[0-9a-f]{8}-/g, 'N-')}`);
      assert.equal(seen.join('; '), SEEN.get(name));
    });
  }
});

import type { ErrorCode } from '../../catalog/error.ts';

/** What a caller should know of an error code. */
export interface ErrorGuide {
  /** What it says, in one sentence. */
  readonly meaning: string;
  /** How it comes about. */
  readonly cause: string;
  /** What to do about it. */
  readonly action: string;
}

/** Every error code explained; /docs/errors shows it, and the contract's examples quote it. */
export const ERROR_GUIDE: Readonly<Record<ErrorCode, ErrorGuide>> = {
  invalid_json: {
    meaning: 'The body is not JSON.',
    cause: 'The body is empty, breaks off, is not in UTF-8, or has a syntax error; the message says where.',
    action: 'Send a JSON object, made by a JSON library rather than by joining strings.',
  },
  validation_failed: {
    meaning: 'A value is missing, of the wrong type, or out of its bounds.',
    cause: 'A member of the body, a query parameter or a header does not fit its schema; the message names it.',
    action: 'Correct the value that the message names. The same request will fail again.',
  },
  malformed_request: {
    meaning: 'The request breaks the rules of HTTP.',
    cause: 'For example no Host header or two, an escape in the path that is not UTF-8, or contradictory lengths.',
    action: 'Use an HTTP library of your language; if you do already, look at what a proxy in between changes.',
  },
  missing_api_key: {
    meaning: 'The request carries no API key.',
    cause: 'There is no Authorization header, or not exactly one, or it does not hold a bearer token.',
    action: 'Send “Authorization: Bearer” and your key, in this header only. A key in the address is not read.',
  },
  invalid_api_key: {
    meaning: 'The API key does not open this environment.',
    cause:
      'The key is mistyped, revoked, expired, or belongs to the other environment. Which of these is not told to anybody.',
    action: 'Check that the whole key was copied and that it belongs to this address; else ask for a new one.',
  },
  insufficient_scope: {
    meaning: 'The key may not use this operation.',
    cause: 'The key was issued with fewer scopes; the WWW-Authenticate header names the one that is needed.',
    action: 'Use a key that has the scope, or ask for one.',
  },
  not_found: {
    meaning: 'There is nothing at this address.',
    cause: 'The path is not one of the contract’s, a slash is doubled or trailing, or no resource has this id.',
    action: 'Compare the path with the reference; list the resources to see which ids there are.',
  },
  method_not_allowed: {
    meaning: 'The address exists, but not for this method.',
    cause: 'For example a PUT, or a POST to a single resource.',
    action: 'Use one of the methods that the Allow header names.',
  },
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    cause: 'Its headers or its body came too slowly, or stopped.',
    action: 'Send the request again, without pauses. A create may be repeated safely with its Idempotency-Key.',
  },
  order_not_cancellable: {
    meaning: 'The order is complete and cannot be cancelled.',
    cause: 'Its shipDate has passed.',
    action: 'Treat the order as delivered. Repeating the request changes nothing.',
  },
  insufficient_stock: {
    meaning: 'There are fewer of the pet than were ordered.',
    cause: 'Other orders were faster, or the quantity was never in stock.',
    action: 'Look at the inventory and order what is there.',
  },
  catalog_full: {
    meaning: 'The catalog holds as many categories as it may.',
    cause: 'The service bounds the number of categories, because the whole list is always sent.',
    action: 'Use an existing category, or ask the operator to raise the bound.',
  },
  gone: {
    meaning: 'The operation has been removed.',
    cause: 'It was deprecated, and its sunset has passed.',
    action: 'Use its successor, which the Link header and the page on deprecations name.',
  },
  payload_too_large: {
    meaning: 'The body is too large.',
    cause: 'It is larger than 262,144 bytes.',
    action: 'Send less; every valid body is far smaller.',
  },
  uri_too_long: {
    meaning: 'The address is too long.',
    cause: 'Path and query together are longer than 8,192 characters.',
    action: 'Send only the parameters that the reference names.',
  },
  unsupported_media_type: {
    meaning: 'The body is not plain application/json in UTF-8.',
    cause: 'The Content-Type is another one, names another charset, or there is a Content-Encoding.',
    action: 'Send “Content-Type: application/json”, and the body uncompressed.',
  },
  expectation_failed: {
    meaning: 'The Expect header asks for something that is not done here.',
    cause: 'It holds anything but 100-continue.',
    action: 'Leave the header out.',
  },
  idempotency_key_reused: {
    meaning: 'The Idempotency-Key was used for another request.',
    cause: 'Within 24 hours the same key came with another method, path or body.',
    action: 'Make a new Idempotency-Key for each new resource, and repeat one only with the very same request.',
  },
  rate_limit_exceeded: {
    meaning: 'The requests of this minute are used up.',
    cause: 'The key made more requests than its plan admits in a minute.',
    action: 'Wait for as many seconds as Retry-After says. Requests in the meantime can lead to a ban.',
  },
  daily_quota_exceeded: {
    meaning: 'The requests of this day are used up.',
    cause: 'The key made more requests than its plan admits in a day. The day is that of UTC.',
    action: 'Wait for as many seconds as Retry-After says, or change the plan.',
  },
  key_banned: {
    meaning: 'The key is banned for a while.',
    cause: 'It went on calling after it was refused, again and again; the message says until when it is banned.',
    action: 'Stop until Retry-After is over, and make the client wait after a 429.',
  },
  headers_too_large: {
    meaning: 'The headers are too large.',
    cause: 'All headers together are larger than the service reads.',
    action: 'Leave out what the service does not need, cookies for example.',
  },
  internal_error: {
    meaning: 'The service failed.',
    cause: 'A defect of the service, not of the request. What was asked for may or may not have been done.',
    action: 'Report it with its X-Request-Id. Repeat a create only with its Idempotency-Key.',
  },
  not_implemented: {
    meaning: 'The request uses a part of HTTP that is not served.',
    cause: 'An unknown method, or a Transfer-Encoding other than chunked.',
    action: 'Use the methods of the reference, and a Content-Length.',
  },
  http_version_not_supported: {
    meaning: 'The version of HTTP is not served.',
    cause: 'The request line names something else than HTTP/1.1 or HTTP/1.0.',
    action: 'Use HTTP/1.1.',
  },
  unavailable: {
    meaning: 'The service cannot do this now, and has not done it.',
    cause: 'It is starting, stopping or overloaded, or its database does not answer.',
    action: 'Repeat the request after Retry-After, each time waiting longer.',
  },
  outcome_unknown: {
    meaning: 'Whether the change was made is not known.',
    cause: 'The database broke off in the middle of a commit.',
    action: 'Repeat the request with its Idempotency-Key; without one, look first whether the change is there.',
  },
};

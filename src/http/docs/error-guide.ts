import type { AnyErrorCode } from '../../catalog/error.ts';

/** The documentation of an error code. */
export interface ErrorGuide {
  /** One sentence. */
  readonly meaning: string;
  readonly cause: string;
  /** What the caller should do. */
  readonly action: string;
}

/** Documents every error code, for /docs/errors and the examples of the contracts. */
export const ERROR_GUIDE: Readonly<Record<AnyErrorCode, ErrorGuide>> = {
  invalid_json: {
    meaning: 'The body is not JSON.',
    cause: 'The body is empty, truncated, not UTF-8, or has a syntax error; the message says where.',
    action: 'Send a JSON object. Build it with a JSON library, not by joining strings.',
  },
  validation_failed: {
    meaning: 'A value is missing, has the wrong type, or is out of bounds.',
    cause:
      'A member of the body, a query parameter or a header does not fit its schema, or the operation has no such parameter; the message names it.',
    action: 'Correct the value that the message names. Do not retry the request unchanged.',
  },
  malformed_request: {
    meaning: 'The request is not valid HTTP.',
    cause:
      'For example, the Host header is missing or duplicated, an escape in the path is not UTF-8, or the lengths conflict.',
    action: 'Use an HTTP library. If you already do, check what a proxy in between changes.',
  },
  missing_api_key: {
    meaning: 'The request has no API key.',
    cause: 'The Authorization header is missing, duplicated, or not a bearer token; the message says which.',
    action: 'Send “Authorization: Bearer” and your key. A key in the URL is ignored.',
  },
  invalid_api_key: {
    meaning: 'The API key is not valid in this environment.',
    cause:
      'The key is mistyped, revoked, expired, or belongs to the other environment. The response does not say which.',
    action:
      'Check that the key was copied completely and belongs to this environment; otherwise ask the operator for a new one.',
  },
  insufficient_scope: {
    meaning: 'The key may not use this operation.',
    cause: 'The key was issued without the required scope, which the WWW-Authenticate header names.',
    action: 'Use a key that has the scope, or ask the operator for one.',
  },
  not_found: {
    meaning: 'There is nothing at this address.',
    cause: 'The path is not in the contract, has a double or trailing slash, or no resource has this id.',
    action: 'Compare the path with the reference. List the resources to find valid ids.',
  },
  method_not_allowed: {
    meaning: 'The address does not support this method.',
    cause: 'For example a PUT, or a POST to a single resource.',
    action: 'Use a method that the Allow header names.',
  },
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    cause: 'Its headers or body arrived too slowly, or stopped.',
    action: 'Retry the request without pauses. Retry a create with the same Idempotency-Key.',
  },
  order_not_cancellable: {
    meaning: 'The order is complete and cannot be cancelled.',
    cause: 'Its shipDate has passed.',
    action: 'Treat the order as delivered. Do not retry.',
  },
  insufficient_stock: {
    meaning: 'The stock is smaller than the quantity ordered, or reserved.',
    cause: 'Other orders came first, the quantity was never in stock, or the pet is pending.',
    action: 'Check the inventory and order what is in stock. Order a pending pet once it is available.',
  },
  catalog_full: {
    meaning: 'The catalog has reached its maximum number of categories, or of bytes of them.',
    cause: 'The service bounds both, because the whole list is held in memory and sent in one response.',
    action: 'Use an existing category, or ask the operator to raise the bound.',
  },
  gone: {
    meaning: 'The operation has been removed.',
    cause: 'It was deprecated, and its sunset has passed.',
    action: 'Use its successor, which the Link header and the deprecations page name.',
  },
  precondition_failed: {
    meaning: 'The resource has changed since it was read.',
    cause: 'Its ETag is none of those in If-Match.',
    action: 'Get the resource again, decide anew, and send its present ETag.',
  },
  payload_too_large: {
    meaning: 'The body is too large.',
    cause: 'It is larger than 262,144 bytes.',
    action: 'Send a smaller body; every valid one is far below the limit.',
  },
  uri_too_long: {
    meaning: 'The address is too long.',
    cause: 'Path and query together are longer than 8,192 characters.',
    action: 'Send only the parameters that the reference names.',
  },
  unsupported_media_type: {
    meaning: 'The body is not plain application/json in UTF-8.',
    cause: 'The Content-Type or its charset is a different one, or there is a Content-Encoding.',
    action: 'Send “Content-Type: application/json” and an uncompressed body.',
  },
  expectation_failed: {
    meaning: 'The Expect header is not supported.',
    cause: 'Its value is not 100-continue.',
    action: 'Omit the header.',
  },
  idempotency_key_reused: {
    meaning: 'The Idempotency-Key was used for another request.',
    cause: 'The same key was sent with another method, path or body within 24 hours.',
    action: 'Use a new Idempotency-Key for each new resource, and reuse it only to retry the identical request.',
  },
  rate_limit_exceeded: {
    meaning: 'The requests of this minute are used up.',
    cause: 'The key made more requests than its plan allows per minute.',
    action: 'Wait the number of seconds in Retry-After. Requests before that can lead to a ban.',
  },
  daily_quota_exceeded: {
    meaning: 'The requests of this day are used up.',
    cause: 'The key made more requests than its plan allows per day (UTC).',
    action: 'Wait the number of seconds in Retry-After, or ask the operator for a larger plan.',
  },
  key_banned: {
    meaning: 'The key is temporarily banned.',
    cause: 'It kept sending requests after it was refused. The message says when the ban ends.',
    action: 'Stop for the number of seconds in Retry-After, and make the client wait after a 429.',
  },
  headers_too_large: {
    meaning: 'The headers are too large.',
    cause: 'All headers together exceed the limit of the service.',
    action: 'Omit headers that the service does not need, such as cookies.',
  },
  internal_error: {
    meaning: 'The service failed.',
    cause: 'A defect of the service, not of the request. The change may or may not have been made.',
    action: 'Report it with its X-Request-Id. Retry a create only with the same Idempotency-Key.',
  },
  not_implemented: {
    meaning: 'The request uses an HTTP feature that is not supported.',
    cause: 'The method is unknown, or the Transfer-Encoding is not chunked.',
    action: 'Use the methods in the reference, and send a Content-Length.',
  },
  http_version_not_supported: {
    meaning: 'The HTTP version is not supported.',
    cause: 'The version is neither HTTP/1.1 nor HTTP/1.0.',
    action: 'Use HTTP/1.1.',
  },
  unavailable: {
    meaning: 'The service cannot do this now, and has not done it.',
    cause:
      'It is starting, stopping or overloaded, its database does not respond, or too many answers to the key are unread.',
    action: 'Retry after the number of seconds in Retry-After, with a longer wait each time.',
  },
  outcome_unknown: {
    meaning: 'It is not known whether the change was made.',
    cause: 'The connection to the database was lost during a commit.',
    action: 'Retry with the same Idempotency-Key; without one, first check whether the change was made.',
  },
  missing_token: {
    meaning: 'The request has no token.',
    cause: 'The Authorization header is missing, duplicated, or not a bearer token.',
    action: 'Send “Authorization: Bearer” and your token.',
  },
  invalid_token: {
    meaning: 'The token is not valid.',
    cause: 'The token is mistyped, revoked or expired, or it is an API key. The response does not say which.',
    action: 'Check that the token was copied completely; otherwise issue another one.',
  },
  insufficient_role: {
    meaning: 'The role of the token does not suffice.',
    cause: 'The operation needs another role, which the message names.',
    action: 'Use a token with this role.',
  },
  key_revoked: {
    meaning: 'The key is revoked, which is final.',
    cause: 'It was revoked before this request.',
    action: 'Issue a new key.',
  },
  category_in_use: {
    meaning: 'The category has pets, so it was not deleted.',
    cause: 'At least one pet belongs to it.',
    action: 'Keep the category, or rename it.',
  },
  misdirected_request: {
    meaning: 'The operator listener is not called by this name.',
    cause: 'The Host header is no address, not localhost, and not in OPERATOR_HOSTS.',
    action: 'Call the listener by its address, or add the name to OPERATOR_HOSTS.',
  },
};

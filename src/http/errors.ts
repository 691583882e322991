import { type AnyErrorCode, CatalogError } from '../catalog/error.ts';
import type { Decision } from '../limits/limiter.ts';
import { utc } from '../stdx/time.ts';
import type { Answer } from './transport/exchange.ts';

const RETRY_AFTER_SECONDS = 1;

/** The HTTP status of each code, decided nowhere else. */
export const STATUS_OF: Readonly<Record<AnyErrorCode, number>> = {
  invalid_json: 400,
  validation_failed: 400,
  malformed_request: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  missing_token: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_role: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  order_not_cancellable: 409,
  insufficient_stock: 409,
  catalog_full: 409,
  key_revoked: 409,
  category_in_use: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  misdirected_request: 421,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  daily_quota_exceeded: 429,
  key_banned: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
  outcome_unknown: 503,
  http_version_not_supported: 505,
};

/** Errors after which the rest of the input cannot be trusted; they close the connection. */
const CLOSING: ReadonlySet<AnyErrorCode> = new Set([
  'malformed_request',
  'request_timeout',
  'payload_too_large',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'not_implemented',
  'http_version_not_supported',
]);

/**
 * Builds an error answer. Gates return it instead of throwing: refusals come in floods, and a throw doubles their cost.
 * `headers` is flat.
 */
export function refusal(code: AnyErrorCode, message: string, headers: readonly string[] = []): Answer {
  const status = STATUS_OF[code];
  // Only the message can need escaping.
  const body = `{"code":"${code}","message":${JSON.stringify(message)},"status":${status}}`;
  return { status, code, headers, body, closes: CLOSING.has(code) };
}

/** The 429 for a request over a limit or during a ban. `now` may be later than the decision (Unix seconds). */
export function overLimit(decision: Decision, now: number): Answer {
  const { refusal: code = 'rate_limit_exceeded', reset } = decision;
  const seconds = `${Math.max(1, reset - now)}`;
  return refusal(code, `${describeLimit(decision)}; retry in ${seconds} s, at ${utc(reset)}`, ['Retry-After', seconds]);
}

/** The refusal for a key that holds too much memory. */
export function readAnswersFirst(): Answer {
  return refusal(
    'unavailable',
    'Too many bytes of bodies and unread answers of this key are held; finish and read them, then retry',
    ['Retry-After', `${RETRY_AFTER_SECONDS}`],
  );
}

function describeLimit({ refusal: code, limit, ban }: Decision): string {
  if (code === 'key_banned') return `The key is banned because it was ${ban?.reason ?? 'refused too often'}`;
  if (code === 'daily_quota_exceeded') return `The quota of ${limit} requests per day is reached`;
  return `The limit of ${limit} requests per minute is reached`;
}

/**
 * The answer to a thrown error. Anything but a CatalogError is a defect, and its details stay hidden from the caller.
 */
export function errorAnswer(error: unknown): Answer {
  if (!(error instanceof CatalogError)) {
    const message = 'The service failed; quote the X-Request-Id when you report it';
    return { ...refusal('internal_error', message), cause: error };
  }
  const { code, message } = error;
  const answer = refusal(code, message, STATUS_OF[code] === 503 ? ['Retry-After', `${RETRY_AFTER_SECONDS}`] : []);
  return answer.status < 500 ? answer : { ...answer, cause: error };
}

/** The 405, with the allowed methods. */
export function methodNotAllowed(method: string, allow: string): Answer {
  return refusal('method_not_allowed', `${method} is not allowed here; use ${allow}`, ['Allow', allow]);
}

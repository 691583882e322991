import { type AnyErrorCode, CatalogError } from '../catalog/error.ts';
import type { Decision } from '../limits/limiter.ts';
import { utc } from '../stdx/time.ts';
import type { Answer } from './transport/exchange.ts';

const RETRY_AFTER_SECONDS = 1;

/** The HTTP status of each code, decided nowhere else. */
export const STATUS_OF: Readonly<Record<AnyErrorCode, number>> = byCode({
  400: ['invalid_json', 'validation_failed', 'malformed_request'],
  401: ['missing_api_key', 'invalid_api_key', 'missing_token', 'invalid_token'],
  403: ['insufficient_scope', 'insufficient_role'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['request_timeout'],
  409: ['order_not_cancellable', 'insufficient_stock', 'catalog_full', 'key_revoked', 'category_in_use'],
  410: ['gone'],
  412: ['precondition_failed'],
  413: ['payload_too_large'],
  414: ['uri_too_long'],
  415: ['unsupported_media_type'],
  417: ['expectation_failed'],
  421: ['misdirected_request'],
  422: ['idempotency_key_reused'],
  429: ['rate_limit_exceeded', 'daily_quota_exceeded', 'key_banned'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  501: ['not_implemented'],
  503: ['unavailable', 'outcome_unknown'],
  505: ['http_version_not_supported'],
});

function byCode<Code extends string>(codes: Readonly<Record<number, readonly Code[]>>): Record<Code, number> {
  const pairs = Object.entries(codes).flatMap(([status, of]) => of.map((code) => [code, Number(status)]));
  return Object.fromEntries(pairs);
}

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

/** The 503 for a request beyond what is done at once. */
export function busy(message: string): Answer {
  return refusal('unavailable', message, ['Retry-After', `${RETRY_AFTER_SECONDS}`]);
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

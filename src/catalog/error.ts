/**
 * Every code of an Error body of the public API. A closed set, so clients may switch over it. Only `http/errors.ts`
 * maps codes to HTTP statuses.
 */
export const ERROR_CODES = [
  'invalid_json',
  'validation_failed',
  'malformed_request',
  'missing_api_key',
  'invalid_api_key',
  'insufficient_scope',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'order_not_cancellable',
  'insufficient_stock',
  'catalog_full',
  'gone',
  'precondition_failed',
  'payload_too_large',
  'uri_too_long',
  'unsupported_media_type',
  'expectation_failed',
  'idempotency_key_reused',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'key_banned',
  'headers_too_large',
  'internal_error',
  'not_implemented',
  'http_version_not_supported',
  'unavailable',
  'outcome_unknown',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The codes that only the operator listener answers with. */
export const OPERATOR_ERROR_CODES = [
  'missing_token',
  'invalid_token',
  'insufficient_role',
  'key_revoked',
  'category_in_use',
  'misdirected_request',
] as const;

export type AnyErrorCode = ErrorCode | (typeof OPERATOR_ERROR_CODES)[number];

/** A failure that is reported to the client. The message says what failed and what to do, and holds no secret. */
export class CatalogError extends Error {
  readonly code: AnyErrorCode;
  /** The message for each wrong member of a body, where the check looked at all of them. */
  readonly mistakes: ReadonlyMap<string, string> | undefined;

  constructor(
    code: AnyErrorCode,
    message: string,
    { mistakes, ...options }: ErrorOptions & { mistakes?: ReadonlyMap<string, string> } = {},
  ) {
    super(message, options);
    this.name = 'CatalogError';
    this.code = code;
    this.mistakes = mistakes;
  }
}

/** The failure of input that is not valid; `member` is the wrong one, where the message is about one. */
export function invalid(message: string, member?: string): CatalogError {
  return new CatalogError('validation_failed', message, member ? { mistakes: new Map([[member, message]]) } : {});
}

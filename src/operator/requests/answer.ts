import type { ApiKey } from '../../catalog/api-key.ts';
import type { ErrorCode } from '../../catalog/error.ts';
import { ERROR_GUIDE } from '../../http/docs/error-guide.ts';
import { type Html, html } from '../../http/html.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { count, counted } from '../frame/element.ts';

/** Why a request was answered as it was, in plain words. */
export interface AnswerInWords {
  readonly sentence: Html;
  readonly details: readonly Html[];
}

/** Says why a request was refused or failed, and what its caller can do; the key is undefined if it is gone. */
export function answerTo(request: RecentRequest, key: ApiKey | undefined): AnswerInWords {
  const { code, status } = request;
  if (status < 400) return { sentence: html`It was not refused: it was answered with ${status}.`, details: [] };
  const about = overLimit(request, key);
  if (about) return about;
  const guide = ERROR_GUIDE[code as ErrorCode] as (typeof ERROR_GUIDE)[ErrorCode] | undefined;
  if (!guide) return { sentence: html`It was answered with ${status}.`, details: [] };
  const whose = status >= 500 ? 'The service failed, not the caller.' : 'The caller can correct this.';
  const log = status >= 500 ? [html`The log has a line with this request id.`] : [];
  return {
    sentence: html`${status} ${code ?? ''}: ${guide.meaning}`,
    details: [html`${guide.cause}`, html`${whose} ${guide.action}`, ...log],
  };
}

function overLimit(request: RecentRequest, key: ApiKey | undefined): AnswerInWords | undefined {
  const { code, limit = 0, reason = '' } = request;
  if (code === 'rate_limit_exceeded') {
    return {
      sentence: html`Over the limit of the minute: the key had used its ${counted(limit, 'request')}.`,
      details: [
        html`A minute begins with its first request and lasts 60 seconds; then the key works again. The client should wait as long as <code>Retry-After</code> says. If it regularly needs more, a larger plan helps.`,
        ...changedSince(limit, key?.limits.minute),
      ],
    };
  }
  if (code === 'daily_quota_exceeded') {
    return {
      sentence: html`Over the quota of the day: the key had used its ${counted(limit, 'request')}.`,
      details: [
        html`The day begins at 00:00 UTC; until then every request is refused. A larger plan helps at once.`,
        ...changedSince(limit, key?.limits.day),
      ],
    };
  }
  if (code !== 'key_banned') return undefined;
  return {
    sentence: html`Banned: the key went on after a refusal; it was ${reason}.`,
    details: [
      html`A ban refuses every request until it ends, and each lasts longer than the one before. The client must wait after a 429 as long as <code>Retry-After</code> says. Lifting the ban helps at once, and only until the client goes on in the same way.`,
    ],
  };
}

function changedSince(then: number, now: number | undefined): Html[] {
  return now === undefined || now === then ? [] : [html`The limit was changed since: it is ${count(now)} now.`];
}

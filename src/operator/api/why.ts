import { type ApiKey, endOf, withoutSecret } from '../../catalog/api-key.ts';
import { CatalogError, type ErrorCode, invalid } from '../../catalog/error.ts';
import { inWords, quote } from '../../catalog/validate.ts';
import { ERROR_GUIDE } from '../../http/docs/error-guide.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest, RecentRequests } from '../../telemetry/recent-requests.ts';
import { byText } from './filters.ts';
import { type Caller, operate } from './operation.ts';
import { REQUESTS_MAX, recentOf } from './requests.ts';
import { Why } from './schema.ts';

/** “Why was this refused?”: from a request id or a key to the reason, and to what helps. */

/** The number of keys that a text may mean. */
const KEYS_LIKE_MAX = 10;
const SUBJECT = byText('A request id, or the name, owner, id or prefix of a key');

/** The reason for an answer in one sentence, and what the caller and the operator can do. */
export interface Reason {
  readonly sentence: string;
  readonly details: readonly string[];
}

export const whyRefused = operate('request.why', 'why', 'GET /why/{subject}', {
  tag: 'requests',
  summary: 'Say why a request was refused',
  description:
    'The reason for the answer to a request that this instance keeps, or for the latest refusal or error of a key, and what helps.',
  permission: 'viewer',
  isOfService: true,
  parameter: { name: 'subject', description: SUBJECT.about, schema: SUBJECT.schema },
  success: { status: 200, description: 'The reason', schema: Why },
  async handle(caller, call) {
    const text = withoutSecret(SUBJECT.read(call.id, 'subject', caller.now).trim());
    const recent = recentOf(caller);
    const request = recent.find(text);
    const kept = request ?? latestFailure(recent, text);
    const asked = request ? caller.storage.keys.find(request.keyId).then((key) => [key]) : keysLike(caller, text);
    const [key, other] = await asked.catch((error: CatalogError) => {
      // A request that is kept can be explained while the database is away.
      if (kept && error.code === 'unavailable') return [];
      throw error;
    });
    if (other) throw invalid(`${quote(text)} may mean several keys; send the id of one`);
    if ((!key && !kept) || text === '')
      throw new CatalogError(
        'not_found',
        `This instance keeps no request ${quote(text)}, and no key is called that; the log has a line with the id for a 5xx, up to ten of one cause a second, and for every request where ACCESS_LOG is all`,
      );
    const keyId = key?.id ?? kept?.keyId ?? text;
    const latest = kept ?? latestFailure(recent, keyId);
    const reason = latest && reasonFor(latest, key);
    const end = key && !request ? endOf(key, caller.now) : undefined;
    const [sentence = 'No refused or failed request of the key is kept.', ...details] = [
      ...(end ? [`${end.what} at ${utc(end.at)}: every request since then is a 401.`] : []),
      ...(reason ? [reason.sentence, ...reason.details] : []),
    ];
    return { json: { sentence, details, requestId: latest?.requestId ?? null, keyId } };
  },
});

/** The keys that a text may mean, newest first: the one with this id, prefix or name, else those that contain it. */
export async function keysLike(
  { storage, now }: Pick<Caller, 'storage' | 'now'>,
  text: string,
): Promise<readonly ApiKey[]> {
  const byId = await storage.keys.find(text);
  if (byId) return [byId];
  const { keys } = await storage.keys.list({ text, now, limit: KEYS_LIKE_MAX });
  const meant = keys.filter(({ prefix, name, owner }) => [prefix, name, owner].includes(text));
  return meant.length === 1 ? meant : keys;
}

/** The latest refusal of a key that is kept, else the latest error. */
export function latestFailure(recent: RecentRequests, keyId: string): RecentRequest | undefined {
  const all = recent.list({ keyId, limit: REQUESTS_MAX });
  return all.find(({ status }) => status === 429 || status === 401) ?? all.find(({ status }) => status >= 400);
}

/** Says why a request was refused or failed, and what its caller can do. */
export function reasonFor(request: RecentRequest, key: ApiKey | undefined): Reason {
  const { code, status } = request;
  if (status < 400) return { sentence: `It was not refused: it was answered with ${status}.`, details: [] };
  const about = overLimit(request, key);
  if (about) return about;
  const guide = ERROR_GUIDE[code as ErrorCode] as (typeof ERROR_GUIDE)[ErrorCode] | undefined;
  if (!guide) return { sentence: `It was answered with ${status}.`, details: [] };
  const whose = status >= 500 ? 'The service failed, not the caller.' : 'The caller can correct this.';
  const log = status >= 500 ? ['The log has a line with this request id, up to ten of one cause a second.'] : [];
  return {
    sentence: `${status} ${code ?? ''}: ${guide.meaning}`,
    details: [guide.cause, `${whose} ${guide.action}`, ...log],
  };
}

function overLimit({ code, limit = 0, reason = '' }: RecentRequest, key: ApiKey | undefined): Reason | undefined {
  const requests = `${inWords(limit)} ${limit === 1 ? 'request' : 'requests'}`;
  const reasons: Readonly<Record<string, Reason>> = {
    rate_limit_exceeded: {
      sentence: `Over the limit of the minute: the key had used its ${requests}.`,
      details: [
        'A minute begins with its first request and lasts 60 seconds; then the key works again. The client should wait as long as Retry-After says. If it regularly needs more, a larger plan helps.',
        ...changedSince(limit, key?.limits.minute),
      ],
    },
    daily_quota_exceeded: {
      sentence: `Over the quota of the day: the key had used its ${requests}.`,
      details: [
        'The day begins at 00:00 UTC; until then every request is refused. A larger plan helps at once.',
        ...changedSince(limit, key?.limits.day),
      ],
    },
    invalid_api_key: {
      sentence: `The key was refused: ${reason}.`,
      details: ['The caller needs another key, unless this one is resumed, or its end is moved.'],
    },
    key_banned: {
      sentence: `Banned: the key went on after a refusal; it was ${reason}.`,
      details: [
        'A ban refuses every request until it ends, and each in a row lasts longer than the one before. The client must wait after a 429 as long as Retry-After says. Lifting the ban helps at once, and only until the client goes on in the same way.',
      ],
    },
  };
  return reasons[code ?? ''];
}

function changedSince(then: number, now = then): string[] {
  return now === then ? [] : [`The limit was changed since: it is ${inWords(now)} now.`];
}

import { type ApiKey, withoutSecret } from '../../catalog/api-key.ts';
import { banAt } from '../../catalog/ban.ts';
import { CatalogError, type ErrorCode, invalid } from '../../catalog/error.ts';
import { UNMATCHED, USAGE_PERIODS, type UsageCounts, weightOf } from '../../catalog/usage.ts';
import { quote } from '../../catalog/validate.ts';
import { ERROR_GUIDE } from '../../http/docs/error-guide.ts';
import { Html, html } from '../../http/html.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { type ApiContext, apiOperation } from '../api/operation.ts';
import { Why } from '../api/schema.ts';
import { recordedLinks } from '../catalog/history.ts';
import { idIn } from '../doors/api-actions.ts';
import { type ConsoleContext, onGet, type View } from '../frame/context.ts';
import { cardTable, clock, count, counted, foreign, moment, numeric, secondOf } from '../frame/element.ts';
import { addressOf, SEARCH_CHARACTERS_MAX, searchText } from '../frame/list.ts';
import { banHistory, banPanel, keyActions, stateBadge, windows } from '../keys/keys.ts';
import { keyNoun } from '../keys/noun.ts';
import { byText } from '../resource.ts';
import { keysLike, ownInstance, requestTable, routeOf, statusBadge, whichKey } from './requests.ts';

const FAILURES_MAX = 20;
/** The number of the key's requests that are shown around the one that is asked about. */
const AROUND = 3;
const KEPT_OF_KEY_MAX = 400;

const SUBJECT = byText('A request id, or the name, owner, id or prefix of a key');

/** “Why was this refused?”: from a request id or a key to the reason, and to what helps. */
export const whyRoutes = [onGet('/requests/why', showWhy)];

async function showWhy(context: ConsoleContext): Promise<View> {
  const text = searchText(context.exchange.query, 'q');
  const content = html`<p class="crumb"><a href="/console/requests">Requests</a></p>
<h1>Why was this refused?</h1>
<form class="search" role="search" aria-label="What to explain" action="/console/requests/why"><label for="q">Request id; name, owner, id or prefix of a key; id or <code>Idempotency-Key</code> of an order</label>
<div class="row"><input id="q" name="q" type="search" value="${text}" maxlength="${SEARCH_CHARACTERS_MAX}" autocomplete="off" spellcheck="false"><button class="primary">Explain</button></div>
<p class="hint">Every answer has its request id in the header <code>X-Request-Id</code>.</p></form>
${text === '' ? '' : await answerFor(context, text)}
<p class="scope">${ownInstance(context)}</p>`;
  return { section: '/requests', title: 'Why was this refused?', content };
}

async function answerFor(context: ConsoleContext, text: string): Promise<Html> {
  const changed = await recordedLinks(context, text);
  const request = context.recent.find(text);
  if (request) {
    const key = await keyNoun.find(context, request.keyId);
    return html`${changed}${await aboutRequest(context, key, request)}`;
  }
  const keys = await keysLike(context, text);
  const [key] = keys;
  if (!key) return changed.text === '' ? unknown(context, text) : changed;
  if (keys.length === 1) return html`${changed}${await aboutKey(context, key)}`;
  return html`${changed}${whichKey(keys, (id) => `/console/requests/why?${new URLSearchParams({ q: id })}`)}`;
}

function unknown({ usesRedis }: ConsoleContext, text: string): Html {
  return html`<section aria-labelledby="unknown-heading"><h2 id="unknown-heading">Neither a kept request nor a key</h2>
<p role="status">This instance keeps no request with the id <code>${text}</code>, and no key has it in its name, owner, id or prefix.</p>
<ul><li>A request without a valid key gets 401 and is not kept: ask for the beginning of the key and look it up here. That of a secret that was rotated is <a href="/console${addressOf('/audit', { q: text })}">in the audit</a>.</li>
<li>An old request is no longer kept, nor every refusal of a key that met many in a minute: look its key up here for what was counted in each minute of the last two days.</li>
${usesRedis ? html`<li>Another instance may have answered it: look in its console, or in the logs.</li>` : ''}
<li>The log has a line with its <code>requestId</code> for a 5xx, and for every request where <code>ACCESS_LOG</code> is <code>all</code>.</li></ul></section>`;
}

/** The answer to “why”, in one sentence, and what the caller can do. */
function verdict(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = answerTo(request, key);
  return html`<div class="verdict ${request.status === 429 ? 'refused' : request.status >= 400 ? 'failed' : 'served'}" role="status"><p><strong>${sentence}</strong></p>${details.map((each) => html`<p>${each}</p>`)}</div>`;
}

/** The same as a text that can be sent to the customer. */
function draft(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = answerTo(request, key);
  const words = plain([sentence, ...details]);
  const { requestId, at, status, method, route } = request;
  const what = route === UNMATCHED ? `${method}, no such address` : `${method} ${route}`;
  return html`<section aria-labelledby="draft-heading"><h2 id="draft-heading">An answer to the customer</h2>
<div class="row"><textarea id="draft" rows="5" readonly aria-labelledby="draft-heading">Your request ${requestId} (${what}) of ${utc(at)} was answered with ${status}. ${new Html(words)}</textarea><button type="button" data-copy="draft" hidden>Copy</button></div>
<p class="hint" id="copied" role="status"></p></section>`;
}

/** Html without its tags, which are all that has angle brackets. */
function plain(parts: readonly Html[]): string {
  return parts
    .flatMap(({ text }) => ` ${text}`.split('<'))
    .map((part) => part.slice(part.indexOf('>') + 1))
    .join('')
    .trim();
}

/** “Why was this refused?” for programs and the command: a request id, or a key, to the reason. */
export const WHY_REFUSED = apiOperation('why', 'GET /why/{subject}', {
  tag: 'requests',
  summary: 'Say why a request was refused',
  description:
    'The reason for the answer to a request that this instance keeps, or for the latest refusal or error of a key, and what helps.',
  permission: 'viewer',
  pathParameters: [{ name: 'subject', description: SUBJECT.about, schema: SUBJECT.schema }],
  success: {
    status: 200,
    description: 'The reason',
    schema: Why,
    example: {
      sentence: 'Over the limit of the minute: the key had used its 60 requests.',
      details: ['A minute begins with its first request and lasts 60 seconds; then the key works again.'],
      requestId: 'hE7GR_cEMx1KfM2V.1f',
      keyId: 'key_VXnvMwGskigm0Sfq',
    },
  },
  errors: ['not_found'],
  handle: why,
});

async function why(context: ApiContext, exchange: Exchange): Promise<Answer> {
  const text = withoutSecret(SUBJECT.read(idIn(exchange), 'subject', context.now).trim());
  const request = context.recent.find(text);
  const kept = request ?? latestFailure(context.recent.list({ keyId: text, limit: KEPT_OF_KEY_MAX }));
  const asked = request ? keyNoun.find(context, request.keyId).then((key) => [key]) : keysLike(context, text);
  const [key, other] = await asked.catch((error: CatalogError) => {
    // A request that is kept can be explained while the database is away.
    if (kept && error.code === 'unavailable') return [];
    throw error;
  });
  if (other) throw invalid(`${quote(text)} may mean several keys; send the id of one`);
  if ((!key && !kept) || text === '')
    throw new CatalogError(
      'not_found',
      `This instance keeps no request ${quote(text)}, and no key is called that; the log has a line with the id for a 5xx, and for every request where ACCESS_LOG is all`,
    );
  const keyId = key?.id ?? kept?.keyId ?? text;
  const latest = kept ?? latestFailure(context.recent.list({ keyId, limit: KEPT_OF_KEY_MAX }));
  const end = key && endOf(key, context.now);
  const gone = end && `${end.what} at ${utc(end.at)}: every request since then is a 401.`;
  const { sentence, details } = latest
    ? answerTo(latest, key)
    : { sentence: html`No refused or failed request of the key is kept.`, details: [] };
  const words = [sentence, ...details].map((each) => plain([each]));
  const [first = '', ...rest] = request || gone === undefined ? words : [gone, ...(latest ? words : [])];
  const body = { sentence: first, details: rest, requestId: latest?.requestId ?? null, keyId };
  return { status: 200, body: JSON.stringify(body) };
}

/** The latest refusal, else the latest error. */
function latestFailure(all: readonly RecentRequest[]): RecentRequest | undefined {
  return all.find(({ status }) => status === 429) ?? all.find(({ status }) => status >= 400);
}

/** The end or the pause of a key, and its moment; undefined for a key in use. */
function endOf({ revokedAt, expiresAt, pausedAt }: ApiKey, now: number): { what: string; at: number } | undefined {
  if (revokedAt !== null) return { what: 'Revoked', at: revokedAt };
  if (expiresAt !== null && expiresAt <= now) return { what: 'Expired', at: expiresAt };
  return pausedAt === null ? undefined : { what: 'Paused', at: pausedAt };
}

async function aboutRequest(context: ConsoleContext, key: ApiKey, request: RecentRequest): Promise<Html> {
  const { requestId, at, durationMs, limit } = request;
  // The limit of one window is kept: if it is none of the key's now, both may have been others.
  const { minute, day } = limit === key.limits.minute || limit === key.limits.day ? key.limits : {};
  const all = context.recent.list({ keyId: key.id, limit: KEPT_OF_KEY_MAX });
  const place = all.findIndex((each) => each.requestId === requestId);
  const around = all.slice(Math.max(0, place - AROUND), place + AROUND + 1);
  return html`${verdict(request, key)}
${request.status >= 400 ? draft(request, key) : ''}
<h2>The request</h2>
<dl class="facts"><dt>Time</dt><dd>${secondOf(at)}</dd><dt>Answer</dt><dd>${statusBadge(request)}, after ${durationMs.toFixed(1)} ms</dd><dt>Route</dt><dd>${routeOf(request)}</dd><dt>Request id</dt><dd><code>${requestId}</code></dd>
${left('Minute', request.minuteRemaining, minute)}${left('Day (UTC)', request.dayRemaining, day)}</dl>
<h2>Its key</h2>
${keyHead(context, key)}
${await windows(context, key)}
<section aria-labelledby="around-heading"><h2 id="around-heading">Requests of the key around it</h2>
${requestTable('Requests around it', around, { names: new Map([[key.id, key.name]]), id: 'around-rows', current: requestId })}
<p><a href="/console/requests?key=${key.id}">All recent requests of the key</a> · <a href="/console/requests/why?q=${key.id}">When was the key refused?</a></p></section>
${await banHistory(context, key)}`;
}

async function aboutKey(context: ConsoleContext, key: ApiKey): Promise<Html> {
  const all = context.recent.list({ keyId: key.id, limit: KEPT_OF_KEY_MAX });
  const failures = all.filter(({ status }) => status >= 400);
  const latest = failures.find(({ status }) => status === 429) ?? failures[0];
  const answer = latest
    ? html`<p class="soft">The latest ${latest.status === 429 ? 'refusal' : 'error'}, <a href="/console/requests/why?${`${new URLSearchParams({ q: latest.requestId })}`}">one request</a> of ${secondOf(latest.at)}:</p>${verdict(latest, key)}`
    : html`<p role="status">This instance keeps no refused or failed request of this key.</p>`;
  const names = new Map([[key.id, key.name]]);
  return html`${keyHead(context, key)}
${ended(key, context.now)}
${answer}
${await refusalsByMinute(context, key, failures)}
${await windows(context, key)}
<section aria-labelledby="failures-heading"><h2 id="failures-heading">Latest refusals and errors <small>of this instance</small></h2>
${failures.length === 0 ? html`<p class="soft">None is kept.</p>` : requestTable('Latest refusals and errors', failures.slice(0, FAILURES_MAX), { names, id: 'failures-rows' })}
<p><a href="/console/requests?key=${key.id}">All recent requests of the key</a></p></section>
${await banHistory(context, key)}`;
}

/** Why a key that is revoked, paused or has expired is refused; nothing of another one. */
function ended(key: ApiKey, now: number): Html {
  const end = endOf(key, now);
  if (!end) return html``;
  return html`<div class="verdict refused" role="status"><p><strong>${end.what} at ${secondOf(end.at)}: every request since then is a 401.</strong></p><p>Such a request is neither kept nor counted for the key: what follows is older.</p></div>`;
}

/** The state of the key now, its ban, and what the operator can do. */
function keyHead(context: ConsoleContext, key: ApiKey): Html {
  const ban = banAt(key, context.now);
  return html`<div class="heading key-now"><p><a href="/console/keys/${key.id}"><strong>${foreign(key.name)}</strong></a> ${stateBadge(key, context.now)} <span class="soft">plan ${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day</span></p>${keyActions(context, key)}</div>
${ban ? banPanel(context, key, ban) : ''}`;
}

/** The requests that a window had left, of its limit unless that was changed since. */
function left(name: string, remaining: number | undefined, limit = 0): Html {
  const words =
    remaining === undefined
      ? html`<span class="soft">not counted</span>`
      : html`${count(remaining)} left ${limit > 0 && remaining <= limit ? html`<span class="soft">of ${count(limit)}</span>` : ''}`;
  return html`<dt>${name}, then</dt><dd>${words}</dd>`;
}

/** Why a request was answered as it was, in plain words. */
interface AnswerInWords {
  readonly sentence: Html;
  readonly details: readonly Html[];
}

/** Says why a request was refused or failed, and what its caller can do. */
function answerTo(request: RecentRequest, key: ApiKey | undefined): AnswerInWords {
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
      html`A ban refuses every request until it ends, and each in a row lasts longer than the one before. The client must wait after a 429 as long as <code>Retry-After</code> says. Lifting the ban helps at once, and only until the client goes on in the same way.`,
    ],
  };
}

function changedSince(then: number, now = then): Html[] {
  return now === then ? [] : [html`The limit was changed since: it is ${count(now)} now.`];
}

const TIMES_MAX = 60;
const BANS_MAX = 100;
const COLUMNS = ['When', 'Why', numeric('Refused'), numeric('Served')];
const WHY: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'over the limit of its minute',
  daily_quota_exceeded: 'over the quota of its day',
  key_banned: 'banned',
};

/**
 * The times of the last days in which a key was refused, newest first, with the reason: that kept with a request, else
 * what the bans and the usage of the day suggest. Minutes that follow each other for the same reason are one.
 */
async function refusalsByMinute(
  { storage, now }: ConsoleContext,
  key: ApiKey,
  failures: readonly RecentRequest[],
): Promise<Html> {
  const ofKey = { keyId: key.id, group: 'all', since: now - USAGE_PERIODS.minute.keptSeconds } as const;
  const points = await storage.usage.sums({ ...ofKey, period: 'minute', step: MINUTE_SECONDS });
  const refused = points.filter((point) => point.refused > 0).reverse();
  const bans = await storage.keys.banHistory(key.id, BANS_MAX);
  const days = await storage.usage.sums({ ...ofKey, period: 'day', step: DAY_SECONDS });
  const admitted = (day: UsageCounts) => weightOf(day, 'requests') - day.refused;
  const spentDays = new Set(days.filter((day) => admitted(day) >= key.limits.day).map(({ at }) => at));
  const byMinute = Map.groupBy(failures, ({ at }) => at - (at % MINUTE_SECONDS));
  const reasons = (at: number): string => {
    const known = (byMinute.get(at) ?? []).flatMap(({ code }) => WHY[code ?? ''] ?? []);
    if (known.length > 0) return [...new Set(known)].join(', ');
    const isBanned = bans.some((ban) => ban.startedAt < at + MINUTE_SECONDS && (ban.liftedAt ?? ban.endsAt) > at);
    if (isBanned) return 'banned in this minute';
    return spentDays.has(at - (at % DAY_SECONDS))
      ? 'probably over the quota of its day'
      : 'probably over the limit of its minute';
  };
  const times: { from: number; to: number; reason: string; refused: number; served: number }[] = [];
  for (const { at, served, refused: refusals } of refused) {
    const [reason, later] = [reasons(at), times.at(-1)];
    if (later?.reason === reason && later.from === at + MINUTE_SECONDS) {
      times[times.length - 1] = {
        ...later,
        from: at,
        refused: later.refused + refusals,
        served: later.served + served,
      };
    } else times.push({ from: at, to: at, reason, refused: refusals, served });
  }
  const rows = times.slice(0, TIMES_MAX).map(({ from, to, reason, refused, served }) => {
    const when = html`${moment(from)}${from < to ? html` to ${clock(to)}` : ''}`;
    return [when, html`${reason}`, html`${count(refused)}`, html`${count(served)}`];
  });
  const more = times.length - TIMES_MAX;
  return html`<section aria-labelledby="refusals-heading"><h2 id="refusals-heading">When it was refused <small>by minute, in the last 2 days, on all instances</small></h2>
${rows.length === 0 ? html`<p class="soft">No limit and no ban refused the key in the last 2 days.</p>` : cardTable('Refusals by minute', COLUMNS, rows)}
${more > 0 ? html`<p class="soft">And at ${count(more)} earlier times; the <a href="/console/keys/${key.id}?range=30d">chart of the key</a> shows them.</p>` : ''}
</section>`;
}

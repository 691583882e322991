import type { ApiKey } from '../../catalog/api-key.ts';
import { banAt } from '../../catalog/ban.ts';
import { UNMATCHED } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { endOf, keysLike, latestFailure, reasonFor } from '../api/why.ts';
import { type ConsoleContext, onGet, type View } from './frame/context.ts';
import { count, foreign, secondOf } from './frame/element.ts';
import { addressOf, SEARCH_CHARACTERS_MAX, searchText } from './frame/list.ts';
import { recordedLinks } from './history.ts';
import { banHistory, banPanel, findKey, keyActions, stateBadge, windows } from './keys.ts';
import { ownInstance, requestTable, routeOf, statusBadge, whichKey } from './requests.ts';

/** The number of the key's requests that are shown around the one that is asked about. */
const AROUND = 3;
const KEPT_OF_KEY_MAX = 400;

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
  const request = context.service.recent.find(text);
  if (request) {
    const key = await findKey(context, request.keyId);
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
<li>An old request is no longer kept, nor every refusal of a key that met many in a minute.</li>
${usesRedis ? html`<li>Another instance may have answered it: look in its console, or in the logs.</li>` : ''}
<li>The log has a line with its <code>requestId</code> for a 5xx, and for every request where <code>ACCESS_LOG</code> is <code>all</code>.</li></ul></section>`;
}

/** The answer to “why”, in one sentence, and what the caller can do. */
function verdict(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = reasonFor(request, key);
  const tone = request.status === 429 ? 'refused' : request.status >= 400 ? 'failed' : 'served';
  return html`<div class="verdict ${tone}" role="status"><p><strong>${sentence}</strong></p>${details.map((each) => html`<p>${each}</p>`)}</div>`;
}

/** The same as a text that can be sent to the customer. */
function draft(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = reasonFor(request, key);
  const { requestId, at, status, method, route } = request;
  const what = route === UNMATCHED ? `${method}, no such address` : `${method} ${route}`;
  return html`<section aria-labelledby="draft-heading"><h2 id="draft-heading">An answer to the customer</h2>
<div class="row"><textarea id="draft" rows="5" readonly aria-labelledby="draft-heading">Your request ${requestId} (${what}) of ${utc(at)} was answered with ${status}. ${[sentence, ...details].join(' ')}</textarea><button type="button" data-copy="draft" hidden>Copy</button></div>
<p class="hint" id="copied" role="status"></p></section>`;
}

async function aboutRequest(context: ConsoleContext, key: ApiKey, request: RecentRequest): Promise<Html> {
  const { requestId, at, durationMs, limit } = request;
  // The limit of one window is kept: if it is none of the key's now, both may have been others.
  const { minute, day } = limit === key.limits.minute || limit === key.limits.day ? key.limits : {};
  const all = context.service.recent.list({ keyId: key.id, limit: KEPT_OF_KEY_MAX });
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
<p><a href="/console/requests?key=${key.id}">All recent requests of the key</a> · <a href="/console/requests/why?q=${key.id}">Refusals of the key</a></p></section>
${await banHistory(context, key)}`;
}

async function aboutKey(context: ConsoleContext, key: ApiKey): Promise<Html> {
  const all = context.service.recent.list({ keyId: key.id, limit: KEPT_OF_KEY_MAX });
  const latest = latestFailure(all);
  const answer = latest
    ? html`<p class="soft">The latest ${latest.status === 429 ? 'refusal' : 'error'}, <a href="/console/requests/why?${`${new URLSearchParams({ q: latest.requestId })}`}">one request</a> of ${secondOf(latest.at)}:</p>${verdict(latest, key)}`
    : html`<p role="status">This instance keeps no refused or failed request of this key.</p>`;
  return html`${keyHead(context, key)}
${ended(key, context.now)}
${answer}
${await windows(context, key)}
<p><a href="/console/requests?key=${key.id}">All recent requests of the key</a></p>
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

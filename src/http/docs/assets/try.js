// The forms of the reference: send a request to the service that the page came from, and show the answer.

/* global addCopyButton */

for (const form of document.querySelectorAll('.try form')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form);
  });
  form.querySelector('textarea')?.addEventListener('input', () => checkBody(form));
}

async function send(form) {
  const outcome = form.parentElement.querySelector('.outcome');
  const button = form.querySelector('button');
  if (!checkBody(form)) return form.querySelector('textarea').focus();
  const request = requestOf(form);
  button.disabled = true;
  const startedMs = performance.now();
  try {
    const response = await fetch(request.url, { ...request.init, cache: 'no-store' });
    const text = await response.text();
    show(outcome, { request, response, text, durationMs: performance.now() - startedMs });
  } catch (error) {
    outcome.replaceChildren(element('h4', { className: 'bad' }, `Not sent: ${error.message}`));
  }
  button.disabled = false;
  // The button had the focus before it was disabled.
  if (document.activeElement === document.body) button.focus();
}

/** The request that the form describes; empty fields are left out. */
function requestOf(form) {
  const values = (place) =>
    [...form.querySelectorAll(`[data-in="${place}"]`)]
      .filter(({ value }) => value !== '')
      .map(({ name, value }) => [name, value]);
  const path = [...form.querySelectorAll('[data-in="path"]')].reduce(
    (filled, { name, value }) => filled.replace(`{${name}}`, encodeURIComponent(value)),
    form.dataset.path,
  );
  const query = new URLSearchParams(values('query')).toString();
  const key = form.querySelector('[data-key-field]').value.trim();
  const body = form.querySelector('[data-in="body"]')?.value;
  // Without one of the reader's own, each request creates something new.
  const makesKey = form.querySelector('[name="Idempotency-Key"]')?.value === '';
  const headers = [
    ...(key ? [['Authorization', `Bearer ${key}`]] : []),
    ...values('header'),
    ...(makesKey ? [['Idempotency-Key', crypto.getRandomValues(new Uint32Array(4)).join('-')]] : []),
    ...(body === undefined ? [] : [['Content-Type', 'application/json']]),
  ];
  const { method } = form.dataset;
  return { url: `${location.origin}${path}${query && `?${query}`}`, init: { method, headers, body } };
}

/** Says what is wrong with the body; true if it is JSON, or if there is none. */
function checkBody(form) {
  const area = form.querySelector('textarea');
  if (!area) return true;
  const mistake = form.querySelector('.mistake');
  try {
    JSON.parse(area.value);
    mistake.hidden = true;
    area.removeAttribute('aria-invalid');
    return true;
  } catch (error) {
    mistake.hidden = false;
    mistake.textContent = `The body is not JSON: ${error.message}`;
    area.setAttribute('aria-invalid', 'true');
    return false;
  }
}

function show(outcome, { request, response, text, durationMs }) {
  const { status, headers } = response;
  const wait = headers.get('Retry-After');
  const title = `${status} ${response.statusText} in ${durationMs.toFixed()} ms`;
  outcome.replaceChildren(
    element('h4', { className: response.ok || status === 304 ? 'good' : 'bad' }, title),
    ...(wait ? [element('p', {}, `Wait ${wait} s before the next request.`)] : []),
    ...gauges(headers),
    ...(text ? [code('Body', pretty(text))] : [element('p', { className: 'soft' }, 'Without a body.')]),
    folded('Headers', [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')),
    folded('Request as curl', curl(request)),
  );
}

/** Both windows of the key, from the headers of the IETF draft. */
function gauges(headers) {
  const quotas = windows(headers.get('RateLimit-Policy'));
  const states = windows(headers.get('RateLimit'));
  const shown = [...states].flatMap(([name, { r: remaining, t: seconds }]) => {
    const quota = quotas.get(name)?.q ?? remaining;
    const meter = element('meter', { min: 0, max: quota, value: remaining, ariaLabel: `Requests left in the ${name}` });
    const count = Number(remaining).toLocaleString('en-US');
    const words = `${count} of ${Number(quota).toLocaleString('en-US')} left, resets in ${spoken(seconds)}`;
    return [element('span', {}, name === 'day' ? 'Day' : 'Minute'), meter, element('span', {}, words)];
  });
  return shown.length === 0 ? [] : [element('div', { className: 'gauges' }, ...shown)];
}

/** `"minute";r=59;t=42, "day";r=999;t=33333` by name. */
function windows(header) {
  const items = [...(header ?? '').matchAll(/"(\w+)"((?:;\w+=\d+)*)/g)];
  return new Map(
    items.map(([, name, parameters]) => [
      name,
      Object.fromEntries([...parameters.matchAll(/;(\w+)=(\d+)/g)].map(([, key, value]) => [key, Number(value)])),
    ]),
  );
}

function spoken(seconds) {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The request as a command, with the key left to the environment. */
function curl({ url, init: { method, headers, body } }) {
  const { keyVariable } = document.querySelector('[data-key-variable]').dataset;
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = headers.map(([name, value]) =>
    name === 'Authorization' ? `-H "Authorization: Bearer $${keyVariable}"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const verb = method === (body === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `;
  if (body !== undefined) lines.push(`-d ${quoted(body)}`);
  return [`curl ${verb}${quoted(url)}`, ...lines].join(' \\\n  ');
}

function folded(title, text) {
  return element('details', {}, element('summary', {}, title), code('', text));
}

function code(title, text) {
  const caption = title ? [element('figcaption', {}, title)] : [];
  const pre = element('pre', {}, element('code', {}, ...colored(text)));
  const block = element('figure', { className: 'sample' }, ...caption, pre);
  addCopyButton(block);
  return block;
}

/** JSON with its strings, words and numbers marked; any other text mostly as it is. */
function colored(text) {
  const parts = text.split(/("(?:\\.|[^"\\])*"|\b(?:true|false|null)\b|(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.]))/);
  return parts.map((part, index) => {
    if (index % 2 === 0) return part;
    const className = part.startsWith('"') ? 's' : /^[tfn]/.test(part) ? 'k' : 'n';
    return element('span', { className }, part);
  });
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

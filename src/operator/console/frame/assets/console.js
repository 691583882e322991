// Progressive enhancement of the console: local times, live updates, copying. All pages work without it.

const REFRESH_MS = 3_000;
/** How often a page that follows the traffic asks for it. */
const FOLLOW_MS = 1_000;

/** The markup of live parts as it came, before rows in it were marked. */
const shown = new WeakMap();

showLocalTimes(document);
document.querySelector('.side [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
offerCopying();
followPlan();
forgetSecretOnReload();
offerPause();
cutSecrets();
if (document.querySelector('[data-live]')) keepFresh();

/** Converts times to the reader's zone; the title keeps UTC. Days without a time stay in UTC, as quotas count them. */
function showLocalTimes(root) {
  for (const time of root.querySelectorAll('time[datetime*="T"]:not(.utc)')) {
    const date = new Date(time.dateTime);
    const seconds = 'seconds' in time.dataset ? `:${String(date.getSeconds()).padStart(2, '0')}` : '';
    time.textContent = 'clock' in time.dataset ? localMinute(date).slice(-5) : localMinute(date) + seconds;
  }
  for (const zone of root.querySelectorAll('[data-zone]'))
    zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function localMinute(date) {
  const two = (number) => String(number).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Fetches the page every few seconds and replaces the live parts that changed. */
function keepFresh() {
  const status = document.querySelector('[data-refreshing]');
  if (status) status.textContent = 'Updates automatically';
  const stale = document.querySelector('#stale');
  const schedule = () => setTimeout(poll, document.querySelector('[data-pause]') ? FOLLOW_MS : REFRESH_MS);
  let updatedAt = new Date();
  let hasEnded = false;
  const poll = async () => {
    if (!document.hidden && !isPaused()) {
      try {
        await refresh();
        updatedAt = new Date();
        stale.hidden = true;
      } catch (error) {
        hasEnded = error.name === 'SessionEnded';
        stale.textContent = hasEnded
          ? 'Your session has ended. Sign in again to continue.'
          : `Not updated since ${localMinute(updatedAt)}: the service does not respond. Retrying.`;
        stale.hidden = false;
      }
    }
    if (!hasEnded) schedule();
  };
  schedule();
}

async function refresh() {
  const response = await fetch(location.pathname + location.search, {
    cache: 'no-store',
    headers: { 'X-Refresh': '1' },
  });
  if (response.redirected) throw Object.assign(new Error(), { name: 'SessionEnded' });
  if (!response.ok) throw new Error(response.status);
  const text = await response.text();
  // It may have been paused since it asked.
  if (isPaused()) return;
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  showLocalTimes(fresh);
  const marked = [...document.querySelectorAll('[data-live]')];
  for (const old of marked) {
    const now = fresh.getElementById(old.id);
    // Keep an element that has the focus.
    if (!now || old.contains(document.activeElement) || isSelected(old)) continue;
    const markup = now.innerHTML;
    if (markup === (shown.get(old) ?? old.innerHTML)) continue;
    shown.set(old, markup);
    markNew(old, now);
    old.replaceChildren(...document.adoptNode(now).childNodes);
    // From now on the parts in it may be live instead.
    old.toggleAttribute('data-live', 'live' in now.dataset);
  }
  document.dispatchEvent(new Event('refreshed'));
}

/** Whether the reader selects text in an element, to copy it. */
function isSelected(element) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}

/** Marks the rows of a list that follows the traffic that were not there before. */
function markNew(old, now) {
  const known = new Set([...old.querySelectorAll('tr')].map((row) => row.textContent));
  for (const row of document.querySelector('[data-pause]') ? now.querySelectorAll('tr') : []) {
    if (!known.has(row.textContent)) row.classList.add('new');
  }
}

function isPaused() {
  return document.querySelector('[data-pause]')?.dataset.pause === 'paused';
}

/** Pauses and follows without a reload, so that what is shown stays; the address says which. */
function offerPause() {
  const button = document.querySelector('[data-pause]');
  if (!button) return;
  const status = document.querySelector('#following');
  const tell = () => {
    status.textContent = isPaused() ? 'Paused.' : 'New ones appear by themselves.';
  };
  tell();
  button.addEventListener('click', (event) => {
    event.preventDefault();
    const here = location.pathname + location.search;
    const next = button.getAttribute('href');
    button.dataset.pause = isPaused() ? 'following' : 'paused';
    button.textContent = isPaused() ? 'Follow' : 'Pause';
    button.setAttribute('href', here);
    history.replaceState(null, '', next);
    tell();
  });
}

function offerCopying() {
  for (const button of document.querySelectorAll('[data-copy]')) {
    const input = document.getElementById(button.dataset.copy);
    const status = document.querySelector('#copied');
    button.hidden = false;
    button.addEventListener('click', async () => {
      input.select();
      try {
        await navigator.clipboard.writeText(input.value);
        status.textContent = 'Copied.';
      } catch {
        status.textContent = 'The browser does not allow copying. The text is selected: copy it by hand.';
      }
    });
  }
}

/** Shows the limit fields only for the enterprise plan. */
function followPlan() {
  const plan = document.querySelector('#plan');
  const limits = document.querySelector('[data-for-plan]');
  if (!plan || !limits) return;
  const apply = () => {
    limits.hidden = plan.value !== limits.dataset.forPlan;
    for (const input of limits.querySelectorAll('input')) input.required = !limits.hidden;
  };
  plan.addEventListener('change', apply);
  apply();
}

/** Cuts a pasted secret to its prefix before a search has it in its address, which browsers keep. */
function cutSecrets() {
  document.addEventListener('submit', ({ target }) => {
    if (target.method !== 'get') return;
    for (const field of target.elements) {
      const [prefix] = /petcat_(?:(?:live|test)_\w{4}|op_\w{6})/.exec(field.value) ?? [];
      if (prefix !== undefined) field.value = prefix;
    }
  });
}

/** Reloading the page of a new secret would create another key; this makes it load the key's page instead. */
function forgetSecretOnReload() {
  const shown = document.querySelector('[data-become]');
  if (shown) history.replaceState(null, '', shown.dataset.become);
}

// For every page of the documentation: the search, copy buttons, the language of the samples, and the key in them.
// Ids begin with `ui-`, because headings have ids of their own.

const KEY_STORAGE = 'pet-catalog-key';
const LANGUAGE_STORAGE = 'pet-catalog-language';
const RESULTS_MAX = 12;
const STEM_MIN = 5;
const DENSE = 100;
const EXCERPT_BEFORE = 30;
const EXCERPT_AFTER = 60;

addCopyButtons();
followLanguage();
followKey();
startSearch();
startFilter();
closeMenuOnFollow();
markOpenSection();

/** A copy button for each block of code. It copies what is shown, with the key if there is one. */
function addCopyButtons() {
  for (const block of document.querySelectorAll('.sample')) addCopyButton(block);
}

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy quiet';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const shown = [...block.querySelectorAll('pre')].find((pre) => pre.checkVisibility());
    try {
      const key = sessionStorage.getItem(KEY_STORAGE) ?? '';
      await navigator.clipboard.writeText((shown?.textContent ?? '').replaceAll(masked(key) || '\0', key));
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });
  block.append(button);
}

/** Shows all samples in the language that was chosen last. */
function followLanguage() {
  const choose = (language) => {
    for (const input of document.querySelectorAll(`.tabs input[value="${CSS.escape(language)}"]`)) input.checked = true;
  };
  const chosen = localStorage.getItem(LANGUAGE_STORAGE);
  if (chosen) {
    choose(chosen);
    // Samples above the target changed their heights.
    if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  }
  document.addEventListener('change', ({ target }) => {
    if (!target.closest('.tabs')) return;
    const before = target.getBoundingClientRect().top;
    choose(target.value);
    localStorage.setItem(LANGUAGE_STORAGE, target.value);
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' });
  });
}

/** A key of production is not shown to those who look over a shoulder; the copy button copies it. */
function masked(key) {
  return key.replace(/^(petcat_live_).+$/, '$1••••••••');
}

/** Fills the key into the samples. It is kept for this tab only. */
function followKey() {
  const places = [...document.querySelectorAll('[data-key]')].map((place) => ({ place, written: place.textContent }));
  const fields = [...document.querySelectorAll('[data-key-field]')];
  const block = document.querySelector('[data-key-pattern]');
  const state = block?.querySelector('[data-key-state]');
  const forget = block?.querySelector('[data-key-forget]');
  const noun = block?.dataset.keyNoun;
  const initial = state?.textContent;
  const show = (key, source) => {
    for (const field of fields) if (field !== source) field.value = key;
    for (const { place, written } of places) {
      const filled = place.dataset.key === 'text' ? masked(key) : JSON.stringify(masked(key));
      place.textContent = key ? filled : written;
    }
    if (!block) return;
    forget.hidden = !key;
    if (!key) state.textContent = initial;
    else if (new RegExp(block.dataset.keyPattern).test(key))
      state.textContent = `The samples and forms use this ${noun}. It stays in this tab.`;
    else state.textContent = `This does not look like a complete ${noun}. The samples and forms use it all the same.`;
  };
  const set = (key, source) => {
    if (key) sessionStorage.setItem(KEY_STORAGE, key);
    else sessionStorage.removeItem(KEY_STORAGE);
    show(key, source);
  };
  for (const field of fields) field.addEventListener('input', () => set(field.value.trim(), field));
  block?.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
  forget?.addEventListener('click', () => {
    set('');
    fields[0]?.focus();
  });
  show(sessionStorage.getItem(KEY_STORAGE) ?? '');
}

/** Searches pages, operations, fields and errors; the results replace the navigation. */
function startSearch() {
  const input = document.querySelector('#ui-search');
  if (!input) return;
  const results = document.querySelector('#ui-results');
  const found = document.querySelector('#ui-found');
  const navigation = document.querySelector('.side nav');
  let entries;
  const search = async () => {
    entries ??= fetch(`${document.querySelector('a.name').href}/search.json`).then((response) => response.json());
    const index = await entries;
    const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const words = asked.map((word) => knownWord(index, word)).filter(Boolean);
    const ranked = words.length === 0 ? [] : rank(index, words).slice(0, RESULTS_MAX);
    results.replaceChildren(...ranked.map((entry) => resultOf(entry, words)));
    results.hidden = asked.length === 0;
    navigation.hidden = asked.length > 0;
    found.textContent =
      asked.length === 0 ? '' : `${ranked.length || 'No'} ${ranked.length === 1 ? 'result' : 'results'}`;
    if (asked.length > 0 && ranked.length === 0) results.append(nothing());
  };
  const ask = () => {
    search().catch(() => {
      entries = undefined;
    });
  };
  input.addEventListener('input', ask);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      input.value = '';
      ask();
    }
    if (event.key === 'Enter') results.querySelector('a')?.click();
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      results.querySelector('a')?.focus();
    }
  });
  results.addEventListener('keydown', (event) => {
    const links = [...results.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'ArrowDown') links[at + 1]?.focus();
    else if (event.key === 'ArrowUp') (links[at - 1] ?? input).focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener('keydown', (event) => {
    const isSlash = event.key === '/' && !event.target.closest('input, textarea, select');
    if (!isSlash && !(event.key === 'k' && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    const menu = document.querySelector('#ui-menu');
    if (!input.checkVisibility()) menu.showPopover();
    input.focus();
  });
}

/**
 * Entries with the most of the words: those in the title first, then in a row, as “retry after” is in `Retry-After`, then
 * the denser. Of fields that say the same, the first alone.
 */
function rank(index, words) {
  const scored = index.map((entry) => {
    const title = entry.title.toLowerCase();
    const all = textOf(entry);
    const counts = words.map((word) => all.split(word).length - 1);
    const inTitle = words.filter((word) => title.includes(word)).length;
    const often = counts.reduce((sum, count) => sum + count, 0) * (DENSE / all.length);
    return {
      entry,
      found: counts.filter((count) => count > 0).length,
      score: inTitle * 2 + (title.startsWith(words[0]) ? 1 : 0) + (inRow(words).test(all) ? 1 : 0) + Math.min(often, 2),
    };
  });
  const most = Math.max(...scored.map(({ found }) => found));
  const ranked = scored
    .filter(({ found }) => found > 0 && found === most)
    .sort((one, other) => other.score - one.score)
    .map(({ entry }) => entry);
  const said = ranked.map(({ title, text }) => `${title} ${text}`);
  return ranked.filter((_entry, at) => said.indexOf(said[at]) === at);
}

/** The word, or the longest beginning of it that some entry has, as “pagin” of pagination; undefined without one. */
function knownWord(index, word) {
  for (let length = word.length; length >= Math.min(word.length, STEM_MIN); length -= 1) {
    const stem = word.slice(0, length);
    if (index.some((entry) => textOf(entry).includes(stem))) return stem;
  }
  return undefined;
}

function textOf({ title, place, text }) {
  return `${title} ${place} ${text}`.toLowerCase();
}

/** The words one after the other, whatever punctuation is between them. */
function inRow(words) {
  return new RegExp(
    words.map((word) => RegExp.escape?.(word) ?? word.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('[^a-z0-9]+'),
    'i',
  );
}

/** The part of a text around the words, of which the first is marked. */
function excerpt(text, words) {
  const [found] = [inRow(words), inRow(words.slice(0, 1))].map((pattern) => pattern.exec(text)).filter(Boolean);
  if (!found) return [];
  const from = text.lastIndexOf(' ', Math.max(0, found.index - EXCERPT_BEFORE)) + 1;
  const end = found.index + found[0].length;
  const mark = document.createElement('mark');
  mark.textContent = found[0];
  const after = text.slice(end, end + EXCERPT_AFTER);
  const whole = end + EXCERPT_AFTER < text.length ? after.replace(/\s\S*$/, ' …') : after;
  return [`${from > 0 ? '… ' : ''}${text.slice(from, found.index)}`, mark, whole];
}

function resultOf({ title, place, path, text }, words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  const where = document.createElement('span');
  link.href = path;
  where.textContent = place;
  const about = document.createElement('span');
  about.append(...excerpt(text, words));
  link.append(title, where, about);
  item.append(link);
  return item;
}

function nothing() {
  const item = document.createElement('li');
  item.className = 'soft';
  item.textContent = 'Nothing found';
  return item;
}

/** On the page of errors: hides the codes that do not match. */
function startFilter() {
  const input = document.querySelector('#ui-filter');
  if (!input) return;
  const entries = [...document.querySelectorAll('.entry')];
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
    }
    const shown = entries.filter(({ hidden }) => !hidden).length;
    document.querySelector('#ui-filtered').textContent =
      words.length === 0 ? '' : `${shown} of ${entries.length} codes`;
  };
  input.addEventListener('input', apply);
  // A link to a code that is hidden shows it.
  addEventListener('hashchange', () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.hidden) return;
    input.value = '';
    apply();
    target.scrollIntoView();
  });
  apply();
}

/** Following a link within the page closes the menu of a phone, and ends the search. */
function closeMenuOnFollow() {
  const menu = document.querySelector('#ui-menu');
  menu.addEventListener('click', ({ target }) => {
    if (!target.closest('a')) return;
    if (menu.matches(':popover-open')) menu.hidePopover();
  });
}

/** Marks the operation that is read in the navigation. */
function markOpenSection() {
  const links = new Map(
    [...document.querySelectorAll('.side nav a[href*="#"]')]
      .filter((link) => link.pathname === location.pathname)
      .map((link) => [link.hash.slice(1), link]),
  );
  const sections = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  if (sections.length === 0) return;
  let marked;
  const observer = new IntersectionObserver(
    () => {
      const read = sections.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3);
      const link = links.get(read?.id);
      if (link === marked) return;
      marked?.removeAttribute('aria-current');
      link?.setAttribute('aria-current', 'true');
      link?.scrollIntoView({ block: 'nearest' });
      marked = link;
    },
    { rootMargin: '0px 0px -66% 0px' },
  );
  for (const section of sections) observer.observe(section);
}

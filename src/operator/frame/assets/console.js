// Progressive enhancement of the console: local times, charts, live updates, copying. All pages work without it.

/* global uPlot */

const REFRESH_MS = 3_000;
const FAST_REFRESH_MS = 500;
const CHART_HEIGHT = 210;
/** The limit is drawn only if requests reach this share of it; otherwise the bars would be too small to see. */
const LIMIT_SHOWN_FROM = 0.2;

const charts = new Map();

showLocalTimes(document);
offerCopying();
followPlan();
forgetSecretOnReload();
for (const place of document.querySelectorAll('[data-chart]')) drawChart(place);
const resized = new ResizeObserver(() => {
  for (const { plot, place } of charts.values()) plot.setSize(sizeOf(place));
});
for (const { place } of charts.values()) resized.observe(place);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawCharts);
if (document.querySelector('[data-live]')) keepFresh();

/** Converts times to the reader's zone; the title keeps UTC. Days without a time stay in UTC, as quotas count them. */
function showLocalTimes(root) {
  for (const time of root.querySelectorAll('time[datetime*="T"]')) {
    time.textContent = localMinute(new Date(time.dateTime));
  }
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
  const schedule = () => setTimeout(poll, document.querySelector('[data-hurry]') ? FAST_REFRESH_MS : REFRESH_MS);
  let updatedAt = new Date();
  let hasEnded = false;
  const poll = async () => {
    if (!document.hidden) {
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
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  showLocalTimes(fresh);
  const marked = [...document.querySelectorAll('[data-live]:not([data-chart])')];
  for (const old of marked) {
    const now = fresh.getElementById(old.id);
    // Keep an element that has the focus.
    if (!now || now.innerHTML === old.innerHTML || old.contains(document.activeElement)) continue;
    old.replaceChildren(...document.adoptNode(now).childNodes);
  }
  for (const place of document.querySelectorAll('[data-chart]')) {
    Object.assign(place.dataset, { ...fresh.getElementById(place.id)?.dataset });
    charts.get(place.id)?.update();
  }
}

/** Reads the table by period; omitted periods are zero. */
function readTable({ dataset }) {
  const [first, last, step] = [dataset.first, dataset.last, dataset.step].map(Number);
  const length = (last - first) / step + 1;
  const times = Array.from({ length }, (_, index) => first + index * step);
  const counts = [0, 1, 2].map(() => new Array(length).fill(0));
  for (const row of document.getElementById(dataset.rows).querySelectorAll('[data-at]')) {
    const index = (Number(row.dataset.at) - first) / step;
    const [served, refused, clientErrors, serverErrors] = [...row.querySelectorAll('td')].map((cell) =>
      Number(cell.textContent.replaceAll(',', '')),
    );
    if (index < 0 || index >= length) continue;
    counts[0][index] = served;
    counts[1][index] = clientErrors + serverErrors;
    counts[2][index] = refused;
  }
  return { times, counts };
}

/** Draws stacked bars: served, errors, refused. */
function drawChart(place) {
  const limit = Number(place.dataset.limit ?? 0);
  const isDaily = place.dataset.step === '86400';
  let table = readTable(place);
  place.replaceChildren(legend(limit));
  const colors = getComputedStyle(document.documentElement);
  const color = (name) => colors.getPropertyValue(`--${name}`).trim();
  const bars = (name) => ({
    label: name,
    fill: color(name),
    width: 0,
    paths: uPlot.paths.bars({ size: [0.8, 40, 1], align: isDaily ? 0 : 1 }),
    points: { show: false },
  });
  const axis = {
    stroke: color('soft'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const plot = new uPlot(
    {
      ...sizeOf(place),
      // Quotas count UTC days.
      ...(isDaily && { tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') }),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: {
          range: (_, min, max) => (isDaily ? [min - 43_200, max + 43_200] : [min, max + Number(place.dataset.step)]),
        },
        y: { range: (_, __, max) => [0, scaleMax(max ?? 0, limit)] },
      },
      axes: [
        { ...axis, grid: { show: false }, values: timeLabels(isDaily), space: 70, size: 28 },
        {
          ...axis,
          size: 56,
          incrs: wholeSteps(),
          values: (_, ticks) => ticks.map((tick) => tick.toLocaleString('en-US')),
        },
      ],
      series: [{}, bars('refused'), bars('failed'), bars('served'), limitLine(limit, color('danger'))],
      hooks: { setCursor: [(self) => showCounts(place, table, self.cursor.idx)] },
    },
    stacked(table, limit),
    place,
  );
  plot.root.setAttribute('role', 'img');
  plot.root.setAttribute('aria-label', `${place.dataset.title}, as a chart; the table below has the same numbers`);
  const update = () => {
    table = readTable(place);
    plot.setData(stacked(table, limit));
    showCounts(place, table, plot.cursor.idx);
  };
  showCounts(place, table, null);
  charts.set(place.id, { plot, place, update });
}

function redrawCharts() {
  for (const { plot, place } of charts.values()) {
    plot.destroy();
    drawChart(place);
  }
}

function sizeOf(place) {
  return { width: Math.max(200, place.clientWidth), height: CHART_HEIGHT };
}

/** Cumulative series, drawn from the highest to the lowest so that the bars look stacked. */
function stacked({ times, counts }, limit) {
  const [served, failed, refused] = counts;
  const withErrors = served.map((count, index) => count + failed[index]);
  const all = withErrors.map((count, index) => count + refused[index]);
  return [times, all, withErrors, served, times.map(() => limit || null)];
}

function scaleMax(max, limit) {
  const isNear = limit > 0 && max >= limit * LIMIT_SHOWN_FROM;
  return Math.max(4, max, isNear ? limit : 0) * 1.08;
}

function limitLine(limit, stroke) {
  return { label: 'limit', stroke, width: 1.5, dash: [6, 4], points: { show: false }, show: limit > 0, auto: false };
}

function wholeSteps() {
  const steps = [];
  for (let power = 1; power <= 1e12; power *= 10) steps.push(power, 2 * power, 5 * power);
  return steps;
}

function timeLabels(isDaily) {
  const two = (number) => String(number).padStart(2, '0');
  return (_, ticks) =>
    ticks.map((tick) => {
      const date = new Date(tick * 1000);
      if (isDaily) return date.toISOString().slice(5, 10);
      return `${two(date.getHours())}:${two(date.getMinutes())}`;
    });
}

function legend(limit) {
  const line = document.createElement('p');
  line.className = 'legend';
  for (const name of ['at', 'served', 'failed', 'refused', ...(limit ? ['limit'] : [])]) {
    const part = document.createElement('span');
    part.className = name;
    line.append(part);
  }
  return line;
}

/** Shows the counts of the bar under the pointer in the legend, or the totals without one. */
function showCounts(place, { times, counts }, index) {
  const hasPoint = index !== null && index !== undefined;
  const value = (column) => (hasPoint ? counts[column][index] : counts[column].reduce((sum, count) => sum + count, 0));
  const set = (name, text) => {
    const part = place.querySelector(`.legend .${name}`);
    if (part) part.textContent = text;
  };
  const isDaily = place.dataset.step === '86400';
  const at =
    hasPoint &&
    (isDaily ? new Date(times[index] * 1000).toISOString().slice(0, 10) : localMinute(new Date(times[index] * 1000)));
  set('at', at || 'Total:');
  set('served', `${value(0).toLocaleString('en-US')} served`);
  set('failed', `${value(1).toLocaleString('en-US')} errors`);
  set('refused', `${value(2).toLocaleString('en-US')} refused`);
  set('limit', `limit ${Number(place.dataset.limit).toLocaleString('en-US')}`);
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
        status.textContent = 'The browser does not allow copying. The key is selected: copy it by hand.';
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

/** Reloading the page of a new secret would create another key; this makes it load the key's page instead. */
function forgetSecretOnReload() {
  const shown = document.querySelector('[data-become]');
  if (shown) history.replaceState(null, '', shown.dataset.become);
}

// Draws each chart again so that it can be pointed at. Without scripts the drawing of the server stays.

/* global uPlot */

{
  const HEIGHT = 240;
  const DAY_SECONDS = 86_400;
  /** The limit is drawn only if requests reach this share of it; otherwise the bars would be too small to see. */
  const LIMIT_SHOWN_FROM = 0.2;
  const LINE_WIDTH = 1.75;

  const charts = new Map();

  for (const place of document.querySelectorAll('[data-chart]')) drawChart(place);
  const resized = new ResizeObserver(() => {
    for (const { plot, place } of charts.values()) if (place.clientWidth > 0) plot.setSize(sizeOf(place));
  });
  for (const { place } of charts.values()) resized.observe(place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawCharts);
  document.addEventListener('refreshed', ({ detail }) => {
    for (const { place, update } of charts.values()) {
      const fresh = detail.getElementById(place.id);
      if (!fresh) continue;
      Object.assign(place.dataset, { ...fresh.dataset });
      place.hidden = fresh.hidden;
      update();
    }
  });

  function drawChart(place) {
    const { dataset } = place;
    const isBars = dataset.chart === 'bars';
    const isDaily = Number(dataset.step) >= DAY_SECONDS;
    let read = readTable(place);
    const unit = document.createElement('p');
    unit.className = 'unit';
    const zone = isDaily ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
    unit.textContent = `${dataset.unit}, times in ${zone}`;
    place.replaceChildren(unit);
    const plot = new uPlot(
      {
        ...sizeOf(place),
        // Quotas count UTC days.
        ...(isDaily && { tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') }),
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: {
          x: { range: (_, min, max) => [min - Number(dataset.step) / 2, max + Number(dataset.step) / 2] },
          y: { range: (_, __, max) => [0, scaleMax(max ?? 0, Number(dataset.limit ?? 0), isBars)] },
        },
        axes: axesOf(isBars, isDaily),
        series: [{}, ...seriesOf(read.names, isBars), limitLine(dataset.limit)],
        hooks: { setCursor: [() => showTip()] },
      },
      drawn(read, place),
      place,
    );
    plot.root.setAttribute('role', 'img');
    plot.root.setAttribute('aria-label', `${dataset.title}, as a chart; the table below has the same numbers`);
    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    plot.over.append(tip);
    const showTip = () => {
      const { idx, left } = plot.cursor;
      const hasPoint = idx !== null && idx !== undefined && left >= 0;
      tip.hidden = !hasPoint;
      if (!hasPoint) return;
      tip.replaceChildren(...tipOf(read, idx, dataset));
      const isRight = left > plot.over.clientWidth / 2;
      tip.style.left = isRight ? '' : `${left + 12}px`;
      tip.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : '';
    };
    const update = () => {
      read = readTable(place);
      plot.setData(drawn(read, place));
      showTip();
    };
    charts.set(place.id, { plot, place, update });
  }

  function redrawCharts() {
    for (const { plot, place } of charts.values()) {
      plot.destroy();
      drawChart(place);
    }
  }

  function sizeOf(place) {
    return { width: Math.max(200, place.clientWidth), height: HEIGHT };
  }

  /** Reads the table by step. Omitted steps have no requests: their counts are zero, their durations are none. */
  function readTable({ dataset }) {
    const [first, step, length] = [dataset.first, dataset.step, dataset.steps].map(Number);
    const rows = document.getElementById(dataset.rows);
    const labels = [...rows.closest('table').querySelectorAll('thead th')].slice(1).map((head) => head.textContent);
    const names = [...document.querySelectorAll(`#${dataset.rows.replace(/rows$/, 'legend')} > :not(.limit)`)].map(
      (part) => part.className,
    );
    const none = dataset.chart === 'bars' ? 0 : null;
    const times = Array.from({ length }, (_, index) => first + index * step);
    const values = names.map(() => new Array(length).fill(none));
    for (const row of rows.querySelectorAll('[data-at]')) {
      const index = (Number(row.dataset.at) - first) / step;
      if (index < 0 || index >= length) continue;
      for (const [column, cell] of [...row.querySelectorAll('td')].entries()) {
        const text = cell.textContent.replaceAll(',', '');
        values[column][index] = text === '' ? none : Number(text);
      }
    }
    return { names, labels, times, values };
  }

  /** What the plot draws: bars from the highest to the lowest, so that they look stacked. */
  function drawn({ times, values }, { dataset }) {
    const limits = times.map(() => Number(dataset.limit) || null);
    if (dataset.chart !== 'bars') return [times, ...values, limits];
    let below = times.map(() => 0);
    const tops = values.map((counts) => {
      below = below.map((height, index) => height + counts[index]);
      return below;
    });
    return [times, ...tops.reverse(), limits];
  }

  function seriesOf(names, isBars) {
    const ordered = isBars ? [...names].reverse() : names;
    return ordered.map((name) =>
      isBars
        ? {
            label: name,
            fill: color(name),
            width: 0,
            paths: uPlot.paths.bars({ size: [0.78, 40, 1], align: 0 }),
            points: { show: false },
          }
        : { label: name, stroke: color(name), width: LINE_WIDTH, points: pointsOf(color(name)) },
    );
  }

  /** Only values without a neighbour are points: a line would not show them. */
  function pointsOf(fill) {
    const isAlone = (values, index) =>
      values[index] !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
    return {
      size: 5,
      fill,
      width: 0,
      show: true,
      filter: ({ data }, series) => [...data[series].keys()].filter((index) => isAlone(data[series], index)),
    };
  }

  function limitLine(limit) {
    return {
      label: 'limit',
      stroke: color('danger'),
      width: 1.5,
      dash: [6, 4],
      points: { show: false },
      show: limit !== undefined,
      auto: false,
    };
  }

  function axesOf(isBars, isDaily) {
    const axis = {
      stroke: color('soft'),
      grid: { stroke: color('line'), width: 1 },
      ticks: { show: false },
      font: '12px system-ui',
    };
    const write = (tick) => tick.toLocaleString('en-US', { maximumSignificantDigits: 6 });
    return [
      { ...axis, grid: { show: false }, values: (_, ticks) => ticks.map(timeLabel(isDaily)), space: 76, size: 28 },
      { ...axis, size: 56, ...(isBars && { incrs: wholeSteps() }), values: (_, ticks) => ticks.map(write) },
    ];
  }

  /** The colours are those of the style sheet, so that both drawings have the same. */
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function scaleMax(max, limit, isBars) {
    const isNear = limit > 0 && max >= limit * LIMIT_SHOWN_FROM;
    return Math.max(isBars ? 4 : 0, max, isNear ? limit : 0) * 1.08 || 1;
  }

  function wholeSteps() {
    const steps = [];
    for (let power = 1; power <= 1e12; power *= 10) steps.push(power, 2 * power, 5 * power);
    return steps;
  }

  function timeLabel(isDaily) {
    return (tick) => (isDaily ? dayOf(new Date(tick * 1000)) : minuteOf(new Date(tick * 1000)));
  }

  /** The step under the pointer: its time, and each value with its colour. */
  function tipOf({ names, labels, times, values }, index, { step, unit, chart }) {
    const [from, to] = [times[index], times[index] + Number(step)].map((at) => new Date(at * 1000));
    const isDaily = Number(step) >= DAY_SECONDS;
    const day = `${dayOf(from)} UTC`;
    const title = document.createElement('strong');
    title.textContent = isDaily
      ? Number(step) > DAY_SECONDS
        ? `Week from ${day}`
        : day
      : `${minuteOf(from)} – ${minuteOf(to)}`;
    const lines = names.map((name, column) => {
      const value = values[column][index];
      const line = document.createElement('span');
      line.className = name;
      const suffix = chart === 'bars' ? '' : ` ${unit}`;
      const label = labels[column].replace(/, .*/, '');
      line.textContent = `${label} ${value === null ? '–' : value.toLocaleString('en-US') + suffix}`;
      return line;
    });
    return [title, ...lines];
  }

  function minuteOf(date) {
    return [date.getHours(), date.getMinutes()].map((number) => String(number).padStart(2, '0')).join(':');
  }

  function dayOf(date) {
    return date.toISOString().slice(0, 10);
  }
}

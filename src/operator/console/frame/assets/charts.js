// Shows the values under the pointer. The drawing is the server's, the numbers are those of the table below it.

{
  const DAY_SECONDS = 86_400;
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  /** Where the pointer is; undefined outside every chart. */
  let pointer;

  document.addEventListener('pointermove', ({ target, clientX }) => {
    const place = target.closest('[data-chart]');
    pointer = place && { id: place.id, clientX };
    showTip();
  });
  document.addEventListener('refreshed', showTip);

  function showTip() {
    const drawing = pointer && document.querySelector(`#${pointer.id} svg`);
    const { left, top, width } = drawing?.getBoundingClientRect() ?? {};
    const step = Math.floor(((pointer?.clientX - left) / width) * drawing?.viewBox.baseVal.width);
    tip.hidden = !(step >= 0 && step < drawing.viewBox.baseVal.width);
    if (tip.hidden) return;
    tip.replaceChildren(...linesOf(pointer.id, drawing.dataset, step));
    const isRight = pointer.clientX > left + width / 2;
    tip.style.left = isRight ? '' : `${pointer.clientX + 12}px`;
    tip.style.right = isRight ? `${document.documentElement.clientWidth - pointer.clientX + 12}px` : '';
    tip.style.top = `${top + 4}px`;
  }

  /** The time of a step, and each value with its colour. Steps that the table omits have no requests. */
  function linesOf(id, { first, seconds }, step) {
    const at = Number(first) + step * Number(seconds);
    const rows = document.getElementById(`${id}-rows`);
    const cells = rows.querySelectorAll(`[data-at="${at}"] td`);
    const heads = [...rows.closest('table').querySelectorAll('thead th')].slice(1);
    const colours = document.querySelectorAll(`#${id}-legend > :not(.limit)`);
    const values = heads.map((head, column) => {
      const text = cells[column]?.textContent || '0';
      return line('span', `${head.textContent} ${text}`, colours[column].className);
    });
    return [line('strong', timeOf(at, Number(seconds)), ''), ...values];
  }

  function line(name, text, className) {
    return Object.assign(document.createElement(name), { textContent: text, className });
  }

  function timeOf(at, seconds) {
    const day = `${new Date(at * 1000).toISOString().slice(0, 10)} UTC`;
    if (seconds >= DAY_SECONDS) return seconds > DAY_SECONDS ? `Week from ${day}` : day;
    const [start, end] = [at, at + seconds].map((each) => localMinute(new Date(each * 1000)));
    return `${start} – ${end.slice(-5)}`;
  }
}

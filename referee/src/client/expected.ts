import { Mistake } from '../mistake.ts';
import type { Expected } from './report.ts';
import { RULE_NAMES } from './rules.ts';

/**
 * The failures that the text of a file expects: a kind (`POST /pets`) and a rule in each line; comments after a `#`.
 * Throws `Mistake` with the line that is wrong.
 */
export function expectedIn(text: string, file: string): Expected[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const wanted = line.replace(/#.*$/, '').trim();
    return wanted === '' ? [] : [parse(wanted, `${file}:${index + 1}`)];
  });
}

function parse(text: string, place: string): Expected {
  const [, kind = '', last = ''] = /^([A-Z]+ \/.*\S)\s+(\S+)$/.exec(text) ?? [];
  const rule = RULE_NAMES.find((each) => each === last);
  if (!rule) throw new Mistake(`${place}: "${text}" is no kind and rule, such as "POST /pets once"`);
  return { place, text, kind, rule };
}

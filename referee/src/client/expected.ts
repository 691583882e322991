import { readFileSync } from 'node:fs';
import { Mistake } from '../mistake.ts';
import type { Expected } from './report.ts';
import { RULE_NAMES, type RuleName } from './rules.ts';
import { canonical } from './script.ts';

/**
 * Reads the failures that a file expects: a kind (`POST /pets`) or a script (`lost,ok`), and a rule, in each line;
 * comments after a `#`. Throws `Mistake` with the line that is wrong, or if it cannot be read.
 */
export function readExpected(file: string): Expected[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Mistake(`--expected cannot be read: ${(error as Error).message}`);
  }
  return text.split(/\r?\n/).flatMap((line, index) => {
    const wanted = line.replace(/#.*$/, '').trim();
    return wanted === '' ? [] : [parse(wanted, `${file}:${index + 1}`)];
  });
}

function parse(text: string, place: string): Expected {
  const [, name = '', last = ''] = /^(.*\S)\s+(\S+)$/.exec(text) ?? [];
  const rule = RULE_NAMES.find((each) => each === last);
  if (!rule) throw new Mistake(`${place}: "${text}" is no kind or script and rule, such as "POST /pets once"`);
  if (/^[A-Z]+ \//.test(name)) return ofKind(name, rule, { text, place });
  try {
    return ofScript(canonical(name), rule, { text, place });
  } catch (error) {
    throw new Mistake(`${place}: ${(error as Error).message}`);
  }
}

type Named = Pick<Expected, 'place' | 'text'>;

function ofKind(kind: string, rule: RuleName, named: Named): Expected {
  return {
    ...named,
    isOf: (_, finding) => finding.kind === kind && finding.rule === rule,
    isStale: (_, cells) => cells.some((cell) => cell.kind === kind && cell.rule === rule && cell.verdict === 'kept'),
  };
}

function ofScript(script: string, rule: RuleName, named: Named): Expected {
  let wasBroken = false;
  return {
    ...named,
    isOf(played, finding) {
      const isOne = finding.rule === rule && canonical(played) === script;
      wasBroken ||= isOne;
      return isOne;
    },
    isStale: (plays) => !wasBroken && plays.some((play) => canonical(play.script) === script),
  };
}

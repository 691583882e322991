import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DEFECTS } from '../../../src/rehearsal/defects/defects.ts';
import { DREDD } from './dredd.ts';
import { NEWMAN } from './newman.ts';
import { OURS } from './ours.ts';
import { PAGE, SCORES, scores, withTables } from './page.ts';
import { PORTMAN } from './portman.ts';
import { PRISM } from './prism.ts';
import { RESPECT } from './respect.ts';
import { type Score, scoreOf, whyNot } from './score.ts';
import { SPECMATIC } from './specmatic.ts';

/**
 * Scores testers of APIs by the defects that they catch: `npm run score-testers -- [names] [--minutes 15]`. Keeps the
 * scores in `scores.json`, and writes the tables of docs/conformance.md. A tester goes on with what it has not tried.
 * Needs the registry, and Java for Specmatic.
 */

const TESTERS = [OURS, PRISM, RESPECT, PORTMAN, DREDD, SPECMATIC, NEWMAN];

/** In case the time does not suffice for all. */
const ONE_OF_EACH_RULE_FIRST = [...Map.groupBy(DEFECTS, ({ rule }) => rule).values()]
  .flatMap((defects) => defects.map(({ name }, place) => ({ name, place })))
  .toSorted((one, other) => one.place - other.place)
  .map(({ name }) => name);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '15' } },
});
const wanted = TESTERS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (wanted.length === 0) throw new Error(`The testers are ${TESTERS.map(({ name }) => name).join(', ')}`);
for (const tester of wanted) {
  const reason = whyNot(tester);
  if (reason !== undefined) {
    console.error(`${tester.name}: ${reason}`);
    continue;
  }
  const { caught = [], missed = [], minutes = 0, version } = scores()[tester.name] ?? {};
  const tried = new Set([...caught, ...missed]);
  const score = await scoreOf(tester, {
    defects: ONE_OF_EACH_RULE_FIRST.filter((name) => !tried.has(name)),
    minutes: Number(values.minutes),
    tell: (line) => console.error(line),
  });
  if (tried.size > 0 && score.version !== version) {
    throw new Error(`${tester.name} was ${version}; remove it from scores.json to score ${score.version}`);
  }
  const whole: Score = {
    ...score,
    minutes: minutes + score.minutes,
    caught: [...caught, ...score.caught],
    missed: [...missed, ...score.missed],
  };
  const all = { ...scores(), [tester.name]: whole };
  const ordered = TESTERS.flatMap(({ name }) => (all[name] ? [[name, all[name]]] : []));
  writeFileSync(SCORES, `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`);
  writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8'), scores()));
}

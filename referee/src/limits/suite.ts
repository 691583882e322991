import { countOf, type Suite, type Verdict } from '../report/write.ts';
import type { Report } from './rule.ts';

const WORDS = { passed: 'passed', failed: 'failed', skipped: 'not judged' };

/** The verdict on a limit for every writer. */
export function limitsSuite(report: Report): Suite {
  const { url, family, limit, rules } = report;
  const counts = (['passed', 'failed', 'skipped'] as const).filter((kind) => report[kind] > 0);
  const summary = counts.map((kind) => `${report[kind]} ${WORDS[kind]}`).join(', ');
  return {
    name: `${url}, ${family}${limit ? `: ${limit} requests` : ''}`,
    words: WORDS,
    table: { columns: ['rule', 'verdict'], rows: rules.map(({ id, verdict }) => [id, WORDS[verdict]]) },
    summary: `${summary} of ${rules.length} rules`,
    verdicts: rules,
  };
}

/** The number of verdicts of each kind. */
export function countsOf(rules: readonly Verdict[]): Record<Verdict['verdict'], number> {
  return { passed: countOf(rules, 'passed'), failed: countOf(rules, 'failed'), skipped: countOf(rules, 'skipped') };
}

import { countOf, type Suite } from '../report/write.ts';
import type { Report, Rule, Verdict } from './rule.ts';

const RANK = { failed: 2, passed: 1, skipped: 0 };

/** A report for the writer of text, JUnit and TAP. */
export function suiteOf({ url, level, family, limit, rules }: Report): Suite {
  const interfaces = level === 'published' ? 'the published interface' : 'the published interface and our decisions';
  return {
    name: family === undefined ? `${url}, by ${interfaces}` : `${url}, ${family}${limit ? `: ${limit} requests` : ''}`,
    verdicts: rules.map((verdict) => {
      const { id, verdict: kind, sentence, source, seen, reason } = verdict;
      return {
        id,
        verdict: kind,
        sentence: `${sentence} (${source})`,
        message: seen ?? reason ?? '',
        details: kind === 'failed' ? detailsOf(verdict) : [],
      };
    }),
  };
}

/** The report of several runs: each rule by its worst verdict. */
export function worstOf(reports: readonly [Report, ...Report[]]): Report {
  const [first] = reports;
  const rules = first.rules.map(({ id }) => {
    const all = reports.flatMap(({ rules }) => rules.filter((verdict) => verdict.id === id));
    const worst = all.reduce((one, other) => (RANK[other.verdict] > RANK[one.verdict] ? other : one));
    const times = all.filter(({ verdict }) => verdict === 'failed').length;
    if (times === 0 || times === all.length) return worst;
    return { ...worst, seen: `${worst.seen} (in ${times} of ${all.length} runs)` };
  });
  const durationMs = reports.reduce((sum, report) => sum + report.durationMs, 0);
  return { ...first, ...countsOf(rules), durationMs, rules };
}

/** The number of verdicts of each kind. */
export function countsOf(rules: readonly Verdict[]): Record<Verdict['verdict'], number> {
  return { passed: countOf(rules, 'passed'), failed: countOf(rules, 'failed'), skipped: countOf(rules, 'skipped') };
}

/** All rules for people, a line each. */
export function listOf(rules: readonly Rule[]): string {
  const width = Math.max(...rules.map(({ id }) => id.length)) + 2;
  return rules.map(({ id, level, sentence }) => `${id.padEnd(width)}${level.padEnd(11)}${sentence}`).join('\n');
}

function detailsOf({ expected, exchanges }: Verdict): string[] {
  const shown = exchanges.flatMap(({ request, response, curl }) => [
    ...request.split('\n'),
    ...`→ ${response}`.split('\n'),
    curl,
  ]);
  return [`expected: ${expected}`, ...shown];
}

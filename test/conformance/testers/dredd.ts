import { CONTRACT, runTool, type Tester } from './tester.ts';

/** Dredd, which expects every documented answer of every operation and provokes none of them. */
export const DREDD: Tester = {
  name: 'Dredd',
  packages: ['dredd'],
  command: 'dredd openapi.json URL --header="Authorization: Bearer KEY" --loglevel=error',
  async run(target) {
    const { service, key } = target;
    const args = [CONTRACT, service.url, `--header=Authorization: Bearer ${key}`, '--loglevel=error'];
    const printed = await runTool(target, { name: 'dredd', args });
    if (!/^complete: \d+ passing/m.test(printed)) throw new Error(`Dredd tested nothing: ${printed.slice(0, 1_000)}`);
    // A failure is its transaction, and below it the reasons up to an empty line.
    const failures = printed.matchAll(
      /^fail: ([A-Z]+ \(\d+\) \S+) duration: .*\nfail: ((?:headers|body|statusCode): (?:.+\n)+)/gm,
    );
    return [...failures].flatMap(([, transaction, reasons = '']) =>
      reasons
        .trim()
        .split('\n')
        .map((reason) => `${transaction} ${reason}`),
    );
  },
};

/**
 * The mutants that live with a reason (`mutants.md`): each is named by its module and by code of it, which has to be
 * there.
 */
interface Known {
  readonly module: string;
  readonly codes: readonly string[];
}

const ENTRY = /^- `([\w./-]+)`, ((?:`[^`]*`|[^`:\n])*)/gm;

function knownIn(listed: string): Known[] {
  return [...listed.matchAll(ENTRY)].map(([, module = '', names = '']) => ({
    module,
    codes: [...names.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
  }));
}

/** Each entry whose module or code is no longer there, in a sentence. */
export function unfitting(listed: string, sourceOf: (module: string) => string | undefined): string[] {
  return knownIn(listed).flatMap(({ module, codes }) => {
    const source = sourceOf(module);
    if (source === undefined) return [`mutants.md: there is no module ${module}`];
    if (codes.length === 0) return [`mutants.md: an entry of ${module} names no code`];
    return codes
      .filter((code) => !source.split('\n').some((line) => has(line, code)))
      .map((code) => `mutants.md: ${module} has no \`${code}\``);
  });
}

/** Whether a changed line of a module is that of a mutant that may live. */
export function accepted(listed: string, module: string, line: string): boolean {
  return knownIn(listed).some((known) => known.module === module && known.codes.some((code) => has(line, code)));
}

/** Whether a line has the parts of a code between its dots. */
function has(line: string, code: string): boolean {
  let from = 0;
  for (const part of code.split('…')) {
    const at = line.indexOf(part.trim(), from);
    if (at < 0) return false;
    from = at + part.trim().length;
  }
  return true;
}

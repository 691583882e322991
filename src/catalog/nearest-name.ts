/** A name with more wrong letters means something else. */
const MISTYPED_LETTERS_MAX = 3;
/** Bounds the work on a long text. */
const COMPARED_CHARACTERS_MAX = 40;

/** The known name that a text most probably means, regardless of case and punctuation; undefined if none is near. */
export function nearest(text: string, known: readonly string[]): string | undefined {
  const letters = lettersOf(text);
  const [best] = known
    .map((name) => ({ name, distance: editDistance(letters, lettersOf(name)) }))
    .filter(({ name, distance }) => distance <= MISTYPED_LETTERS_MAX && distance < lettersOf(name).length / 2)
    .sort((one, other) => one.distance - other.distance);
  return best?.name;
}

function lettersOf(name: string): string {
  return name
    .slice(0, COMPARED_CHARACTERS_MAX)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

/** Levenshtein distance, two neighbours swapped counting once: the least number of mistakes that explain the text. */
export function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 0; at < other.length; at += 1) {
      const replaced = (row[at] ?? 0) + (letter === other[at] ? 0 : 1);
      const isSwap = at > 0 && letter === other[at - 1] && one[index - 1] === other[at];
      const swapped = isSwap ? (before[at - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}

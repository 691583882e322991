/** Matches as an engine with backtracking does, and counts the characters compared instead of the time. */

/** Continues a match at a place; returns whether all that follows matches. */
type Next = (at: number) => boolean;
type Step = (at: number, next: Next) => boolean;

/** A part of a pattern, with a text that it matches. */
interface Part {
  readonly step: Step;
  readonly sample: string;
}

/** Where a pattern repeats something: a text that leads there, and characters that occur in what is repeated. */
interface Loop {
  readonly lead: string;
  readonly characters: ReadonlySet<string>;
}

const CANDIDATES = [...'a1 ,;="\'<>/\\-_.:?&#!%\t\n\r[]{}()@Zé\u0000'];
const ATOM = /\\(?:u\{[^}]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pP]\{[^}]+\}|.)|\[(?:\\.|[^\]\\])*\]|./isy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?:<?[=!]|:|<\w+>))?/y;
/** The most repetitions that a pattern is taken to ask for. */
const COUNT_MAX = 16;
/** Beyond it the growth is known. */
export const STEPS_MAX = 100_000;

/** The steps that a pattern takes for a text, for all its matches if it is global; at most about `STEPS_MAX`. */
export class CountedPattern {
  readonly loops: Loop[] = [];
  readonly #pattern: RegExp;
  readonly #match: Part;
  /** The characters of the loops that are being read. */
  readonly #open: Set<string>[] = [];
  #position = 0;
  #lead = '';
  #text = '';
  #steps = 0;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
    this.#match = this.#alternatives();
  }

  stepsFor(text: string): number {
    this.#text = text;
    this.#steps = 0;
    for (let start = 0; start <= text.length && this.#steps < STEPS_MAX; start += 1) {
      this.#steps += 1;
      let end = start;
      const isMatch = this.#match.step(start, (at) => {
        end = at;
        return true;
      });
      if (this.#pattern.sticky || (isMatch && !this.#pattern.global)) break;
      start = Math.max(start, end - 1);
    }
    return this.#steps;
  }

  #read(part: RegExp): RegExpExecArray | undefined {
    part.lastIndex = this.#position;
    const found = part.exec(this.#pattern.source);
    if (found) this.#position = part.lastIndex;
    return found ?? undefined;
  }

  #alternatives(): Part {
    const lead = this.#lead;
    const parts = [this.#sequence()];
    while (this.#pattern.source[this.#position] === '|') {
      this.#position += 1;
      this.#lead = lead;
      parts.push(this.#sequence());
    }
    const sample = parts[0]?.sample ?? '';
    this.#lead = lead + sample;
    return { step: (at, next) => parts.some(({ step }) => step(at, next)), sample };
  }

  #sequence(): Part {
    const { source } = this.#pattern;
    const parts: Part[] = [];
    while (this.#position < source.length && !'|)'.includes(source[this.#position] ?? '')) parts.push(this.#repeated());
    const step = parts.reduceRight<Step>(
      (rest, part) => (at, next) => part.step(at, (later) => rest(later, next)),
      (at, next) => next(at),
    );
    return { step, sample: parts.map(({ sample }) => sample).join('') };
  }

  #repeated(): Part {
    const lead = this.#lead;
    const characters = new Set<string>();
    this.#open.push(characters);
    const part = this.#single();
    this.#open.pop();
    const quantifier = this.#read(QUANTIFIER);
    if (!quantifier) return part;
    const [text, exactly, comma, most] = quantifier;
    const min = text[0] === '+' ? 1 : Math.min(Number(exactly ?? 0), COUNT_MAX);
    const max =
      text[0] === '?' ? 1 : exactly === undefined || (comma && !most) ? Number.POSITIVE_INFINITY : Number(most || min);
    if (max > 1) this.loops.push({ lead, characters });
    const isLazy = text.length > 1 && text.endsWith('?');
    const repeat = (at: number, count: number, next: Next): boolean => {
      const more = () => count < max && part.step(at, (later) => later > at && repeat(later, count + 1, next));
      if (count < min) return part.step(at, (later) => repeat(later, count + 1, next));
      return isLazy ? next(at) || more() : more() || next(at);
    };
    const sample = part.sample.repeat(min);
    this.#lead = lead + sample;
    return { step: (at, next) => repeat(at, 0, next), sample };
  }

  #single(): Part {
    const lead = this.#lead;
    const opening = this.#read(GROUP)?.[0];
    if (opening !== undefined) {
      const start = this.#position - opening.length;
      const inner = this.#alternatives();
      this.#position += 1;
      if (!/[=!]$/.test(opening)) return inner;
      this.#lead = lead;
      if (opening.includes('<')) return this.#place(this.#pattern.source.slice(start, this.#position));
      return { step: (at, next) => inner.step(at, () => true) === opening.endsWith('=') && next(at), sample: '' };
    }
    const atom = this.#read(ATOM)?.[0] ?? '';
    const { flags } = this.#pattern;
    if (/^(?:[\^$]|\\[bB])$/.test(atom)) return this.#place(atom);
    const one = new RegExp(`^(?:${atom})$`, flags.replace(/[gy]/g, ''));
    const known = new Map<string, boolean>();
    const isIn = (character: string) => {
      if (!known.has(character)) known.set(character, one.test(character));
      return known.get(character) === true;
    };
    const literal = atom.replace(/^\\(?=[^\w])/, '');
    const matching = [...(literal.length === 1 ? [literal] : []), ...CANDIDATES].filter(isIn);
    for (const characters of this.#open) for (const character of matching.slice(0, 2)) characters.add(character);
    const sample = matching[0] ?? '';
    this.#lead += sample;
    const step: Step = (at, next) => {
      this.#steps += 1;
      const character = this.#text[at];
      return this.#steps < STEPS_MAX && character !== undefined && isIn(character) && next(at + 1);
    };
    return { step, sample };
  }

  /** What takes no character, and as good as no step. */
  #place(source: string): Part {
    const place = new RegExp(source, `y${this.#pattern.flags.replace(/[gy]/g, '')}`);
    const step: Step = (at, next) => {
      place.lastIndex = at;
      return place.test(this.#text) && next(at);
    };
    return { step, sample: '' };
  }
}

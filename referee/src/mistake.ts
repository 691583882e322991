/** A failure that one line explains: what is wrong, and what to do. */
export class Mistake extends Error {
  /** 2 unless a verdict decides it. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

const QUOTED_CHARACTERS_MAX = 60;

/** A text between quotes, shortened, without anything that controls a terminal. */
export function quote(text: string): string {
  const shown = text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text;
  return `"${shown.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')}"`;
}

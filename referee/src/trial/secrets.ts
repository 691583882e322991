/** A shorter secret is found in ordinary words, and masked only where it stands as a credential. */
const LENGTH_MIN = 8;

/** Keys that no report shows, each with the shell's word for it. */
export class Secrets {
  readonly #secrets: readonly (readonly [secret: string, word: string])[];
  readonly #credential: RegExp;

  /** `headers`: names, besides `Authorization`, whose values are credentials. */
  constructor(secrets: readonly (readonly [secret: string | undefined, word: string])[], headers: string[] = []) {
    // A key may contain another one.
    this.#secrets = secrets
      .flatMap(([secret, word]) => (secret ? [[secret, word] as const] : []))
      .sort(([one], [other]) => other.length - one.length);
    const names = ['authorization', ...headers].map((name) => name.replaceAll(/[^\w-]/g, '\\$&')).join('|');
    this.#credential = new RegExp(`((?:^|-H ')(?:${names}): )([^\\n']*)`, 'gim');
  }

  /** A text with `***` for each key. */
  masked(text: string): string {
    return this.#replaced(text, () => '***');
  }

  /** A command with a variable for each key, outside of the single quotes, so that the shell replaces it. */
  asCommand(curl: string): string {
    return this.#replaced(curl, (word) => `'"${word}"'`);
  }

  #replaced(text: string, by: (word: string) => string): string {
    return this.#secrets.reduce((before, [secret, word]) => {
      if (secret.length >= LENGTH_MIN) return before.replaceAll(secret, by(word));
      return before.replaceAll(this.#credential, (_, name: string, value: string) => {
        return name + value.replaceAll(/[^\s,]+/g, (part) => (part === secret ? by(word) : part));
      });
    }, text);
  }
}

/** The words of commands, where an operation does not say them. */

export interface Words {
  /** The words after the group: an operand in `<>`, or in `[]` where it may be missing. */
  readonly usage?: string;
  readonly about?: string;
  /** True if it begins a catalog where none is. */
  readonly begins?: true;
  /** The note of a list without any row, where it says more than that. */
  readonly none?: string;
  /** The answer for people, in place of its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, whose schema its operation has.
  text?(json: any): string;
}

/** By the id of the operation. */
export const WORDS: Readonly<Record<string, Words>> = {
  listKeys: { none: 'No keys yet; `pet-catalog keys create --name NAME` issues one' },
  createKey: { about: 'Issue a key and print it, alone on stdout and only this once', begins: true },
  liftBan: { usage: 'lift-ban <id>' },
  listAudit: { usage: 'audit' },
  getUsage: { usage: 'usage [key]', about: 'Show the usage of each key, or of one, an owner, a route or a time' },
  listTokens: { none: 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one' },
  createToken: { about: 'Issue a token and print it, alone on stdout and only this once' },
  revokeToken: {
    usage: 'revoke [id]',
    about: 'Revoke a token permanently, or all of one name and those that it issued',
  },
  endSession: {
    usage: 'end [id]',
    about: 'End a session of the console, or all of one actor, with links that were not used',
  },
  listCategories: { none: 'No categories yet; `pet-catalog categories import FILE`' },
  renameCategory: { usage: 'rename <id> <name>' },
  listRequests: { usage: 'requests [id]' },
  why: {
    usage: 'why <request-or-key>',
    text: ({ sentence, details }) => [sentence, ...details].join('\n'),
  },
};

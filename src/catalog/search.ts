import type { ApiKey } from './api-key.ts';

/**
 * Text is searched in the lower case of its NFC form, made here and not by an engine: engines and their locales differ
 * in which letters have a lower case.
 */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** True for a text whose lower case is the same by every engine. */
export function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/** The text by which a key is found, besides its prefix: a line each for its name, its owner and its id. */
export function searchedText({ name, owner, id }: Pick<ApiKey, 'name' | 'owner' | 'id'>): string {
  return folded(`${name}\n${owner ?? ''}\n${id}`);
}

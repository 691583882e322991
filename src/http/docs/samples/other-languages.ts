import type { Sample } from './block.ts';
import { LANGUAGES } from './languages.ts';
import type { SampleRequest } from './request.ts';

/** An argument of a command: in quotes, or up to the next space. */
const ARGUMENT = /'([^']*)'|"([^"]*)"|(\S+)/g;

/**
 * The languages of the reference for one `curl` command of the guide and what the page has in other languages: what is
 * written there counts, and the rest is made from the command. Code of any other kind stays as it is.
 */
export function inEveryLanguage(written: readonly Sample[]): readonly Sample[] {
  const request = requestOf(written.find(({ language }) => language === 'sh')?.code ?? '');
  if (!request) return written;
  return LANGUAGES.flatMap(({ id, label, write }) => {
    const own = written.find(({ language }) => language === id);
    const code = own?.code ?? write(request, '');
    return code === undefined ? [] : [{ language: id, label, code }];
  });
}

/** The request that a plain `curl` command sends; undefined if the code is more than that. */
function requestOf(code: string): SampleRequest | undefined {
  const command = code.replaceAll(/\\\n\s*/g, ' ');
  if (!command.startsWith('curl ') || /[\n|$](?!PET_CATALOG_KEY)/.test(command)) return undefined;
  const words = [...command.matchAll(ARGUMENT)].map(([, single, double, bare]) => single ?? double ?? bare ?? '');
  const url = words.find((word) => /^https?:/.test(word));
  if (url === undefined) return undefined;
  const { origin, pathname, searchParams } = new URL(url);
  const argumentOf = (option: string) => words[words.indexOf(option) + 1];
  const data = words.includes('-d') ? argumentOf('-d') : undefined;
  const key = words.find((word) => word.startsWith('Idempotency-Key: '));
  return {
    method: words.includes('-X') ? (argumentOf('-X') ?? '') : data === undefined ? 'GET' : 'POST',
    baseUrl: `${origin}/v1`,
    url: origin + pathname,
    query: Object.fromEntries(searchParams),
    body: data === undefined ? undefined : JSON.parse(data),
    idempotencyKey: key?.replace('Idempotency-Key: ', ''),
    variable: 'PET_CATALOG_KEY',
    hasAnswerBody: true,
  };
}

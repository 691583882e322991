import { sectionsOf } from './guide/markdown.ts';
import type { Field, ReferenceOperation } from './reference/contract.ts';

interface Entry {
  readonly title: string;
  /** Where it is, to tell equal titles apart. */
  readonly place: string;
  readonly path: string;
  /** More words that lead to it, of which the script shows an excerpt. */
  readonly text: string;
}

/** Pages, their sections, operations and fields, for the script that searches. */
export function searchIndex(
  pages: readonly { readonly title: string; readonly path: string; readonly text: string }[],
  operations: readonly ReferenceOperation[],
): Entry[] {
  const sections = pages.flatMap(({ title, path, text }) =>
    sectionsOf(text).map((section) => ({
      title: section.depth === 1 ? title : section.title,
      place: section.depth === 1 ? 'Page' : title,
      path: section.depth === 1 ? path : `${path}#${section.id}`,
      text: section.text.replaceAll(/\s+/g, ' '),
    })),
  );
  return [...operations.flatMap(entriesOf), ...sections];
}

function entriesOf(operation: ReferenceOperation): Entry[] {
  const { id, method, path, summary, description, inPath, inQuery, inHeader, body } = operation;
  const lists: [string, readonly Field[]][] = [
    ['path', inPath],
    ['query', inQuery],
    ['header', inHeader],
    ['body', body?.fields ?? []],
  ];
  const at = `/docs/reference#${id}`;
  return [
    {
      title: summary,
      place: `${method} ${path}`,
      path: at,
      text: `${description} (${id})`,
    },
    ...lists.flatMap(([place, fields]) =>
      fields.map(({ name, description: about }) => ({
        title: name,
        place: `${summary}, ${place}`,
        path: `${at}.${place}.${name}`,
        text: about,
      })),
    ),
  ];
}

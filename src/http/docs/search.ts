import type { DescribedOperation } from './described.ts';
import { sectionsOf } from './markdown.ts';

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
  pages: readonly { readonly title: string; readonly about: string; readonly path: string; readonly text: string }[],
  operations: readonly DescribedOperation[],
): Entry[] {
  const sections = pages.flatMap(({ title, about, path, text }) =>
    sectionsOf(text).map((section) => {
      const said = section.text.replaceAll(/\s+/g, ' ');
      if (section.depth === 1) return { title, place: 'Page', path, text: `${said} ${about}` };
      return { title: section.title, place: title, path: `${path}#${section.id}`, text: said };
    }),
  );
  return [...operations.flatMap(entriesOf), ...sections];
}

function entriesOf({ id, method, path, summary, description, fields }: DescribedOperation): Entry[] {
  const at = `/docs/reference#${id}`;
  return [
    { title: summary, place: `${method} ${path}`, path: at, text: plain(`${description} (${id})`) },
    ...Object.entries(fields).flatMap(([place, listed]) =>
      listed.map(({ name, schema }) => ({
        title: name,
        place: `${summary}, ${place}`,
        path: `${at}.${place}.${name}`,
        text: plain(schema.description ?? ''),
      })),
    ),
  ];
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}

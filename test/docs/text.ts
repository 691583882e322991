const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The text that a browser shows of HTML. */
export function textOf(html: string): string {
  return html.replaceAll(/<[^>]+>/g, '').replaceAll(/&([\w#]+);/g, (_all, name: string) => ENTITIES[name] ?? '');
}

/** A server's own words about itself, and its extensions. */
export interface AboutServer {
  readonly server: string;
  readonly extensions: string | null;
}

/** Asks a server what it is. */
export const ABOUT = `
  select version() as server, (select string_agg(extname, ' ') from pg_extension) as extensions`;

/** Servers that speak PostgreSQL's protocol and lack what a service relies on, with the nearest that works. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [
    /CockroachDB/,
    'CockroachDB is not supported: its advisory locks lock nothing, and it has no notifications; use PostgreSQL 14 or later',
  ],
  [
    /\bcitus\b/i,
    'Citus is not supported: advisory locks and notifications are those of one node; use a database without the extension',
  ],
];

/** The refusal of a server, by its name and with what to use; undefined for one that works. */
export function refusalOf({ server, extensions }: AboutServer): string | undefined {
  return OTHERS.find(([name]) => name.test(`${server} ${extensions}`))?.[1];
}

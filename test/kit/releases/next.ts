import type { TestEdit } from './programs.ts';

/**
 * A pretended next release: it adds a column to tables with checksums. As the recipe has it, one release reads the
 * version of checksums that covers the column, and the one after it writes that version.
 */

const CHECKSUMS = 'src/storage/sql/checksum.ts';

export const COLUMNS = {
  name: '901-colours',
  statements: [
    ...['categories', 'api_keys'].map((table) => `alter table ${table} add column colour text`),
    'create table later (id text primary key)',
    'create index later_by_name on categories (name)',
  ],
};

export const READS: readonly TestEdit[] = [
  {
    file: CHECKSUMS,
    text: "categories: [['id', 'name', 'description', 'created_at', 'created_by']],",
    instead: `categories: [
      ['id', 'name', 'description', 'created_at', 'created_by'],
      ['id', 'name', 'description', 'created_at', 'created_by', 'colour'],
    ],`,
  },
  {
    file: CHECKSUMS,
    text: "      'owner',\n    ],\n",
    instead: `      'owner',\n    ],\n    ['id', 'name', 'colour'],\n`,
  },
];

export const WRITES: readonly TestEdit[] = [
  { file: CHECKSUMS, text: 'categories: 1,', instead: 'categories: 2,' },
  { file: CHECKSUMS, text: 'api_keys: 1,', instead: 'api_keys: 2,' },
];

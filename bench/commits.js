// Commits one row after the other to a database as the service opens it, and prints the microseconds of one.
import { DatabaseSync } from 'node:sqlite';

const COMMITS = 3_000;
const database = new DatabaseSync(process.argv[2]);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec('CREATE TABLE categories (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT)');
const insert = database.prepare('INSERT INTO categories (name, description) VALUES (?, ?)');
let startedMs = 0;
for (let at = -COMMITS; at < COMMITS; at += 1) {
  if (at === 0) startedMs = performance.now();
  insert.run('Dog', 'Loyal, social, needs walks');
}
console.log(((performance.now() - startedMs) * 1_000) / COMMITS);

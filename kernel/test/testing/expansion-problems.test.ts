import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Test, test } from 'tap'
import { expansionProblems } from '../../src/testing/expansion-problems.ts'

/** A database with users, their files, and the constraints that steps must not break. */
function filled(t: Test): string {
  const file = join(t.testdir(), 'data.sqlite')
  const connection = new DatabaseSync(file)
  connection.exec(`
    CREATE TABLE u (id INTEGER PRIMARY KEY, name TEXT NOT NULL, UNIQUE (name)) STRICT;
    CREATE TABLE f (id INTEGER PRIMARY KEY, u INTEGER REFERENCES u, path TEXT);
    CREATE INDEX f_by_path ON f (path);
    CREATE TRIGGER f_deleted AFTER DELETE ON f BEGIN UPDATE u SET name = name WHERE id = OLD.u; END;
    INSERT INTO u VALUES (1, 'ada'), (2, 'bob');
    INSERT INTO f VALUES (1, 1, '/a'), (2, 1, '/b'), (3, 2, NULL);
  `)
  connection.close()
  return file
}

const problemsOf = (t: Test, step: string) =>
  expansionProblems(filled(t), (connection) => connection.exec(step))

const expansions = {
  'a new table': 'CREATE TABLE g (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
  'a new table whose rows go with the rows that they refer to':
    'CREATE TABLE g (u INTEGER REFERENCES u ON DELETE CASCADE, f INTEGER REFERENCES f ON DELETE SET NULL)',
  'nullable columns, before the constraints of a table':
    'ALTER TABLE u ADD COLUMN color TEXT; ALTER TABLE u ADD COLUMN shape TEXT',
  'a column with a default': "ALTER TABLE f ADD COLUMN color TEXT NOT NULL DEFAULT 'red'",
  'an index': 'CREATE INDEX f_by_user ON f (u, path)',
  'a trigger in plain SQL':
    'CREATE TABLE g (n INTEGER); CREATE TRIGGER f_added AFTER INSERT ON f BEGIN INSERT INTO g VALUES (length(NEW.path)); END',
  'filling an added column': 'ALTER TABLE f ADD COLUMN bytes INTEGER; UPDATE f SET bytes = 3',
}

for (const [name, step] of Object.entries(expansions)) {
  test(`${name} is an expansion`, async (t) => t.same(problemsOf(t, step), []))
}

const contractions: Record<string, [step: string, problem: RegExp]> = {
  'a dropped table': ['DROP TABLE f', /^The table f is gone/],
  'a renamed table': ['ALTER TABLE f RENAME TO files', /^The table f is gone/],
  'a dropped column': [
    'DROP INDEX f_by_path; ALTER TABLE f DROP COLUMN path',
    /^The definition of f changed/,
  ],
  'a renamed column': ['ALTER TABLE f RENAME COLUMN path TO place', /^The definition of f changed/],
  'a column with the name of another table': ['ALTER TABLE f ADD COLUMN name TEXT', /ambiguous in joins/],
  'a column with a CHECK': [
    'ALTER TABLE f ADD COLUMN c TEXT CHECK (path IS NOT NULL OR u = 2)',
    /has a CHECK/,
  ],
  'a column that must have a value': [
    `CREATE TABLE f2 (id INTEGER PRIMARY KEY, u INTEGER REFERENCES u, path TEXT, c TEXT NOT NULL);
     INSERT INTO f2 SELECT *, 'x' FROM f; DROP TABLE f; ALTER TABLE f2 RENAME TO f`,
    /column c of f is not nullable and has no default/,
  ],
  'a column that refers to a row': [
    'ALTER TABLE f ADD COLUMN other INTEGER REFERENCES u',
    /stops deletions from u/,
  ],
  'a table that refers to rows': ['CREATE TABLE g (f INTEGER REFERENCES f)', /stops deletions from f/],
  'a unique index': ['CREATE UNIQUE INDEX one_path ON f (path)', /unique index one_path of f is new/],
  'a dropped index': ['DROP INDEX f_by_path', /^The index f_by_path is gone/],
  'a replaced trigger': [
    'DROP TRIGGER f_deleted; CREATE TRIGGER f_deleted AFTER DELETE ON f BEGIN SELECT 1; END',
    /^The trigger f_deleted is another one now/,
  ],
  'a trigger that refuses': [
    "CREATE TRIGGER f_kept BEFORE DELETE ON f BEGIN SELECT RAISE(ABORT, 'no'); END",
    /f_kept can refuse changes of f/,
  ],
  'a trigger with a function of the program': [
    'CREATE TRIGGER f_hashed AFTER UPDATE ON f BEGIN SELECT hash(NEW.path); END',
    /UPDATE on f fails: no such function: hash/,
  ],
  'changed rows': ["UPDATE f SET path = '/c' WHERE id = 1", /^Rows of f were changed/],
  'added rows': ["INSERT INTO f VALUES (4, 2, '/d')", /^Rows of f were changed/],
  'a table made anew with a constraint': [
    `CREATE TABLE f2 (id INTEGER PRIMARY KEY, u INTEGER REFERENCES u, path TEXT CHECK (path <> ''));
     INSERT INTO f2 SELECT * FROM f; DROP TABLE f; ALTER TABLE f2 RENAME TO f`,
    /^The definition of f changed/,
  ],
}

for (const [name, [step, problem]] of Object.entries(contractions)) {
  test(`${name} is no expansion`, async (t) => {
    const problems = problemsOf(t, step)
    t.match(
      problems.find((line) => problem.test(line)),
      problem,
      problems.join('\n'),
    )
  })
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { replaceContent } from './release-server.ts'

/**
 * Makes a release that expands every database of a node: by a column, an index, and a table that is made from others. Triggers keep two
 * of these tables. The third one is kept by code, and is made anew after another version has run.
 *
 * @param folder the unpacked release
 */
export async function expandDatabases(folder: string): Promise<void> {
  const inPackage = (path: string) => join(folder, 'node_modules/@nodekeep', path)
  await addStep(folder, { id: '99-novelty', change: 'expand' }, stateStep)
  await patch(inPackage('files/dist/journal/journal-file.js'), [
    ['const schemaVersion = 11;', 'const schemaVersion = 12;'],
    [
      'if (found > 0',
      `if (found === 11) {
        connection.exec(\`BEGIN IMMEDIATE; ${journalStep} PRAGMA user_version = 12; COMMIT\`);
        return;
      }
      if (found > 0`,
    ],
  ])
  await patch(inPackage('files/dist/index.js'), [
    ['import { join }', "import { DatabaseSync } from 'node:sqlite';\nimport { join }"],
    ['const pending = await journal.pending();', `const pending = await journal.pending();\n${heads}`],
  ])
}

/** Makes a release that takes something away which {@link expandDatabases} has added, so that there is no way back from it. */
export async function contractDatabase(folder: string): Promise<void> {
  await expandDatabases(folder)
  await addStep(folder, { id: '100-removal', change: 'contract' }, 'DROP INDEX sessions_by_kind')
}

/** Adds a step to the kernel's database, and to the manifest of the release. */
async function addStep(
  folder: string,
  step: { readonly id: string; readonly change: 'expand' | 'contract' },
  statements: string,
): Promise<void> {
  const up = `(database) => database.exec(\`${statements}\`)`
  await patch(join(folder, 'node_modules/@nodekeep/kernel/dist/state/database-schema.js'), [
    ['];', `{ ...${JSON.stringify(step)}, up: ${up} },\n];`],
  ])
  const file = join(folder, 'release.json')
  const manifest = JSON.parse(await readFile(file, 'utf8'))
  await replaceContent(file, () => JSON.stringify({ ...manifest, schema: [...manifest.schema, step] }))
}

/** A step of the kernel's database. `session_counts` has the number of sessions of each user. */
const stateStep = `
  ALTER TABLE users ADD COLUMN novelty TEXT;
  CREATE INDEX sessions_by_kind ON sessions (kind);
  CREATE TABLE session_counts (
    user_uuid TEXT PRIMARY KEY REFERENCES users (uuid) ON DELETE CASCADE, count INTEGER NOT NULL
  ) STRICT;
  INSERT INTO session_counts SELECT uuid, (SELECT count(*) FROM sessions WHERE user_uuid = uuid) FROM users;
  CREATE TRIGGER users_counted AFTER INSERT ON users BEGIN INSERT INTO session_counts VALUES (NEW.uuid, 0); END;
  CREATE TRIGGER sessions_counted AFTER INSERT ON sessions BEGIN
    UPDATE session_counts SET count = count + 1 WHERE user_uuid = NEW.user_uuid;
  END;
  CREATE TRIGGER sessions_uncounted AFTER DELETE ON sessions BEGIN
    UPDATE session_counts SET count = count - 1 WHERE user_uuid = OLD.user_uuid;
  END;`

const shown = 'pending = 0 AND staging IS NULL'
const lastChanges = `SELECT user, path, max(seq) AS seq FROM changes WHERE ${shown} GROUP BY user, path`
const keepLast = `INSERT INTO last_changes VALUES (NEW.user, NEW.path, NEW.seq)
    ON CONFLICT (user, path) DO UPDATE SET seq = max(seq, excluded.seq);`

/** A step of the journal. `last_changes` has the last change of each path. */
const journalStep = `
  ALTER TABLE changes ADD COLUMN novelty TEXT;
  CREATE INDEX changes_by_path ON changes (user, path, seq);
  CREATE TABLE last_changes (user TEXT, path TEXT, seq INTEGER NOT NULL, PRIMARY KEY (user, path)) STRICT;
  INSERT INTO last_changes ${lastChanges};
  CREATE TRIGGER changes_added AFTER INSERT ON changes WHEN NEW.pending = 0 AND NEW.staging IS NULL BEGIN ${keepLast} END;
  CREATE TRIGGER changes_committed AFTER UPDATE OF pending ON changes WHEN NEW.pending = 0 AND NEW.staging IS NULL BEGIN ${keepLast} END;
  CREATE TRIGGER changes_removed AFTER DELETE ON changes BEGIN
    DELETE FROM last_changes WHERE user = OLD.user AND path = OLD.path AND seq = OLD.seq;
  END;`

const lastOfUsers = `SELECT user, max(seq) AS seq FROM changes WHERE ${shown} GROUP BY user`

/** Code of the plugin `files`. The table `heads` has the number of each user's last change. */
const heads = `
  const novelty = new DatabaseSync(context.sqliteFile('heads', { inBackups: false }));
  novelty.exec(\`PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS heads (user TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS made (generation TEXT NOT NULL) STRICT\`);
  novelty.prepare('ATTACH ? AS journal').run(journalFile);
  if (novelty.prepare('SELECT generation FROM made').get()?.generation !== context.generation) {
    novelty.exec('BEGIN; DELETE FROM made; DELETE FROM heads; INSERT INTO heads ${lastOfUsers}');
    novelty.prepare('INSERT INTO made VALUES (?)').run(context.generation);
    novelty.exec('COMMIT');
  }
  const keepHead = 'INSERT OR REPLACE INTO heads SELECT user, max(seq) FROM changes WHERE user = ? AND ${shown} GROUP BY user';
  events.on(FileChanged, ({ userUuid }) => novelty.isOpen && novelty.prepare(keepHead).run(userUuid));
  context.onStop(() => novelty.close());`

/** The tables of an expanded release that do not have what they are made from. */
export function staleTables(data: string): string[] {
  const journal = join(data, 'plugins/files/not-in-backups/journal.sqlite')
  const counts = 'SELECT uuid AS user_uuid, (SELECT count(*) FROM sessions WHERE user_uuid = uuid) FROM users'
  return [
    ...(isMade(join(data, 'state.sqlite'), 'SELECT * FROM session_counts', counts) ? [] : ['session_counts']),
    ...(isMade(journal, 'SELECT * FROM last_changes', lastChanges) ? [] : ['last_changes']),
    ...(isMade(join(journal, '../heads.sqlite'), othersIn('heads'), othersIn(`(${lastOfUsers})`), journal)
      ? []
      : ['heads']),
  ]
}

/** The rows of users whose files are not written at any moment, to watch a new version. */
function othersIn(table: string): string {
  return `SELECT * FROM ${table} WHERE user NOT IN (SELECT user FROM changes WHERE by = 'update')`
}

/** Whether two queries have the same rows. */
function isMade(file: string, table: string, query: string, attached = file): boolean {
  const connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    connection.prepare('ATTACH ? AS source').run(attached)
    const differences = `SELECT * FROM (${table} EXCEPT ${query})
      UNION ALL SELECT * FROM (${query} EXCEPT ${table})`
    return connection.prepare(differences).get() === undefined
  } finally {
    connection.close()
  }
}

/**
 * Replaces texts in a file of a release.
 *
 * @throws Error if the file does not have one of them
 */
export async function patch(
  file: string,
  changes: readonly (readonly [text: string, by: string])[],
): Promise<void> {
  await replaceContent(file, (content) =>
    changes.reduce((changed, [text, by]) => {
      if (!changed.includes(text)) throw new Error(`${file} has no "${text}".`)
      return changed.replace(text, () => by)
    }, content),
  )
}

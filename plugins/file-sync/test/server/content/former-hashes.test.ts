import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { createSyncNode, put, send } from '../../fixtures/sync-node.ts'
import { sha256, upload } from '../../fixtures/uploader.ts'

/** The statements by which the release with version 2 makes a database of another version anew. */
const versionTwo = `
  DROP TABLE IF EXISTS blocks; DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS uploads; DROP TABLE IF EXISTS indexed;
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    revision TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    UNIQUE (user, path)
  ) STRICT;
  CREATE INDEX contents ON files (user, sha256);
  CREATE TABLE blocks (
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    start INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (file, start)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_contents ON blocks (sha256);
  CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    modified INTEGER,
    if_revision TEXT,
    blocks BLOB NOT NULL,
    used INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX equal_uploads ON uploads (user, path, sha256);
  CREATE TABLE indexed (
    user TEXT PRIMARY KEY, epoch TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 2;
`

test('the hashes of the release before move to the index, also after it ran again', async (t) => {
  const dataFolder = t.testdir()
  let node = await createSyncNode({ dataFolder })
  t.teardown(() => node.stop())
  const { user } = await node.signIn('owner')
  for (const round of ['updated', 'rolled back and updated again']) {
    let owner = await node.signIn('owner')
    const [same, changed] = [`/same ${round}`, `/changed ${round}`]
    const revisions = [await put(owner, same, 'x'), await put(owner, changed, 'x')]
    await upload(owner, `/large ${round}`, randomBytes(2_000_000))
    await node.stop()
    const database = new DatabaseSync(`${dataFolder}/plugins/file-sync/not-in-backups/content.sqlite`, {
      enableForeignKeyConstraints: true,
    })
    database.exec(`BEGIN; ${versionTwo} COMMIT`)
    const add = database.prepare(
      'INSERT INTO files (user, path, revision, size, sha256) VALUES (?, ?, ?, 1, ?)',
    )
    // A hash that nobody would find out.
    const told = Buffer.from(sha256(round), 'hex')
    add.run(user.uuid, same, revisions[0] ?? '', told)
    add.run(user.uuid, changed, 'another', told)
    database.close()

    node = await createSyncNode({ dataFolder })
    owner = await node.signIn('owner')
    const hashOf = async (path: string, revision: string | undefined) => {
      const { body } = await send(owner, 'POST', '/api/sync/hashes', { files: [{ path, revision }] })
      return body.hashes[0].sha256
    }
    const rows = new DatabaseSync(`${dataFolder}/plugins/file-sync/not-in-backups/content.sqlite`)
    const left = rows.prepare("SELECT name FROM sqlite_schema WHERE name = 'former_hashes'")
    while (left.get() !== undefined) await delay(20)
    rows.close()
    t.equal(await hashOf(same, revisions[0]), sha256(round), round)
    t.equal(await hashOf(changed, revisions[1]), sha256('x'), round)
    t.match(await upload(owner, `/new ${round}`, randomBytes(2_000_000)), { status: 200 })
  }
})

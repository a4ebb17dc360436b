import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { presets, startNodeProcess } from './node-process.ts'

const bundle = {
  ...presets.find(({ name }) => name === 'default')?.configuration,
  auth: { deletionGraceDays: 0 },
  backup: { drill: false },
}
const longAgo = Date.parse('2001-01-01')

/** Makes the data of a node with work that is due: a deleted user, an ended session, and an unfinished backup. */
async function dataWithDueWork(t: Test): Promise<{ folder: string; user: string }> {
  const folder = t.testdir()
  const node = await createTestNode({ dataFolder: folder, config: bundle })
  const [owner, ada] = [await node.signIn('owner'), await node.signIn()]
  for (const user of [owner, ada]) {
    t.equal((await user.fetch('/write?path=/notes/a', { method: 'PUT', body: 'a' })).status, 200)
    t.equal((await user.fetch('/api/files/changes')).status, 200, 'other programs are followed')
  }
  t.equal((await owner.fetch('/api/backup/create', { method: 'POST' })).status, 200)
  t.equal((await owner.fetch(`/api/users/${ada.user.uuid}`, { method: 'DELETE' })).status, 200)
  await node.stop()
  writeFileSync(join(folder, 'backups', '.unfinished-1-backup-20010101-000000.tar.gz'), '')
  writeFileSync(join(folder, 'files', owner.user.uuid, 'by another program'), '')
  using state = new DatabaseSync(join(folder, 'state.sqlite'))
  state.prepare('UPDATE sessions SET created_at = ?, last_used_at = ?').run(longAgo, longAgo)
  return { folder, user: ada.user.uuid }
}

/** The files that every start changes. */
const ofStarts = ['lock', 'state-copies']

/** Everything in a data folder: the rows of databases, and other files with their times. */
function contentOf(folder: string): Record<string, unknown> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !ofStarts.includes(name) && !/-(wal|shm)$/.test(name))
    .sort()
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name)
      if (name.endsWith('.sqlite')) return [name, rowsOf(path)]
      const stats = statSync(path)
      return [name, stats.isFile() ? [stats.mtimeMs, readFileSync(path, 'base64')] : null]
    }),
  )
}

function rowsOf(file: string): Record<string, unknown> {
  using database = new DatabaseSync(file)
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return Object.fromEntries(
    tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]),
  )
}

test('a trial of the default bundle changes nothing, whatever is due', async (t) => {
  const { folder, user } = await dataWithDueWork(t)
  const before = contentOf(folder)
  const configuration = { ...bundle, data: folder }
  const trial = await startNodeProcess(configuration, { args: ['--trial', 'trial.sock'], ipc: true })
  t.teardown(() => trial.remove())
  t.strictSame(await once(trial.child, 'message'), [{ nodekeep: 'on trial', contractions: [] }, undefined])
  trial.child.kill('SIGTERM')
  t.match(await trial.end, { code: 0 })
  t.same(contentOf(folder), before)

  const node = await startNodeProcess(configuration)
  t.teardown(() => node.remove())
  await node.logged(({ msg }) => msg === 'A deleted user and their data were removed.')
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0 })
  t.notOk(existsSync(join(folder, 'files', user)))
})

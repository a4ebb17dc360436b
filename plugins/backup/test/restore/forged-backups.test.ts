import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test, test } from 'tap'
import type { BackupHeader } from '../../src/archive/backup-header.ts'
import { rewriterOf } from '../drill/fixtures/rewrite-archive.ts'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { houseFor, read, restore, restoresIn } from './fixtures/house.ts'

/** A node with a backup that somebody changes, with a manifest that agrees. */
async function forgery(t: Test) {
  const house = houseFor(t)
  const { owner } = await house.start()
  await put(owner, '/a', 'content')
  const { filename } = await makeBackup(owner)
  const archive = join(house.data, 'backups', filename)
  const rewrite = await rewriterOf(t, archive)
  const forge = async (
    change: (folder: string) => void,
    changeHeader?: (header: BackupHeader) => BackupHeader,
  ) => {
    await rewrite(`${archive}.new`, change, changeHeader)
    renameSync(`${archive}.new`, archive)
  }
  const refused = async (t: Test, message: RegExp, status = 400, body: object = {}) => {
    const answer = await restore(owner, { filename, confirm: true, ...body })
    t.match(await answer.json(), { error: true, message })
    t.equal(answer.status, status)
    t.strictSame(restoresIn(house.data), [], 'nothing is left')
    t.notOk(existsSync(join(house.data, 'restore/plan.json')))
    t.equal(await read(owner, '/a'), 'content')
  }
  return { house, owner, filename, forge, refused }
}

/** The node of the tests that restore nothing. They run one after the other. */
const shared = await forgery(t)

function asFolder(folder: string, path: string): void {
  rmSync(join(folder, path), { recursive: true })
  mkdirSync(join(folder, path))
}

function asFile(folder: string, path: string): void {
  rmSync(join(folder, path), { recursive: true, force: true })
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), 'x')
}

test('a backup whose parts are of another kind, or that has more than a node has, is refused', async (t) => {
  const { forge, refused } = shared
  await forge((folder) => asFolder(folder, 'identity/node.key'))
  await refused(t, /is no backup of a node: "identity\/node.key" is a folder/)
  await forge((folder) => asFile(folder, 'files/local'))
  await refused(t, /is no backup of a node: "files\/local" is a file/)
  await refused(t, /"files\/local" is a file/, 400, { without: ['local'] })
})

test('a forged backup cannot reach beside the folders of users', async (t) => {
  const { forge, refused } = shared
  const beside = mkdtempSync(join(tmpdir(), 'nodekeep-beside-'))
  t.teardown(() => rmSync(beside, { recursive: true, force: true }))
  writeFileSync(join(beside, 'kept'), '')
  const nothing = () => {}

  const out = `${'../'.repeat(20)}${beside.slice(1)}`
  await forge(nothing, (header) => ({ ...header, folders: [{ path: out }] }))
  await refused(t, /leads out of the folder/, 400, { without: [basename(beside)] })
  t.ok(existsSync(join(beside, 'kept')))

  for (const path of ['state/plugins', 'identity', 'files/local/inner']) {
    await forge(nothing, (header) => ({ ...header, folders: [{ path }] }))
    await refused(t, /its backup\.json cannot be read/)
  }
  const local = { plugin: 'storage-local', key: 'root' }
  await forge(nothing, (header) => ({
    ...header,
    folders: ['files/local', 'files/other'].map((path) => ({ path, ...local })),
  }))
  await refused(t, /"local" and "other" would be put into one folder/)

  for (const name of ['.nodekeep', 'lost+found']) {
    await forge((folder) => mkdirSync(join(folder, 'files', 'local', name)))
    await refused(t, /is not the folder of a user/)
  }
})

test('a state that no node has made is refused', async (t) => {
  const { forge, refused } = shared
  await forge((folder) => {
    using database = new DatabaseSync(join(folder, 'state/state.sqlite'))
    database.exec('CREATE TRIGGER t AFTER INSERT ON sessions BEGIN UPDATE users SET owner = NULL; END')
  })
  await refused(t, /not the state of a node, since it has a trigger, "t"/)
})

test('sessions and tokens in a forged backup give access to nobody', async (t) => {
  const { house, owner, filename, forge } = await forgery(t)
  const made = await owner.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'program', scopes: ['files:read'] }),
  })
  const { token } = (await made.json()) as { token: string }
  const present = new DatabaseSync(join(house.data, 'state.sqlite'), { readOnly: true })
  const rows = present.prepare('SELECT * FROM sessions').all()
  present.close()
  t.ok(rows.length >= 2)
  await forge((folder) => {
    using database = new DatabaseSync(join(folder, 'state/state.sqlite'))
    for (const row of rows) {
      const values = Object.keys(row).map((name) => `:${name}`)
      database.prepare(`INSERT INTO sessions VALUES (${values})`).run(row)
    }
  })
  t.equal((await restore(owner, { filename, confirm: true })).status, 200)
  const { node, owner: again } = await house.start()
  const headers = { authorization: `Bearer ${token}` }
  t.equal((await node.fetch('/readdir?path=/', { headers })).status, 401)
  t.equal(await read(again, '/a'), 'content')
})

test('a name with the wallet of somebody else is shown before a restore', async (t) => {
  const { owner, filename, forge } = shared
  const { username, wallet } = owner.user
  const stranger = `0x${'12'.repeat(20)}`
  const preview = async (statement: string) => {
    await forge((folder) => {
      using database = new DatabaseSync(join(folder, 'state/state.sqlite'))
      database.exec(statement)
    })
    return (await (await restore(owner, { filename, confirm: false })).json()) as object
  }
  const present = { username, wallet }
  const none = { count: 0, first: [] }
  const only = <Item>(item: Item) => ({ count: 1, first: [item] })
  const sameUsers = { addedUsers: none, removedUsers: none }
  t.match(await preview(`UPDATE users SET wallet = '${wallet.toLowerCase()}'`), {
    ...sameUsers,
    changedUsers: none,
  })
  const forged = { username, wallet: stranger }
  t.match(await preview(`UPDATE users SET wallet = '${stranger}'`), {
    ...sameUsers,
    changedUsers: only({ present, restored: forged }),
    owner: { present, restored: forged },
  })
  const renamed = { username: 'eve', wallet }
  t.match(await preview(`UPDATE users SET username = 'eve'`), {
    ...sameUsers,
    changedUsers: only({ present, restored: renamed }),
    owner: { present, restored: renamed },
  })
  // Another account has the name.
  const other = crypto.randomUUID()
  t.match(await preview(`UPDATE users SET uuid = '${other}', wallet = '${stranger}'`), {
    addedUsers: only(username),
    removedUsers: only(username),
    changedUsers: none,
    owner: { present, restored: forged },
  })
  // However many they are, the answer names a hundred.
  const { addedUsers } = (await preview(`
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 150)
    INSERT INTO users (uuid, username, wallet, created_at)
      SELECT 'uuid-' || number, 'user-' || number, 'wallet-' || number, 0 FROM numbers
  `)) as { addedUsers: { count: number; first: string[] } }
  t.equal(addedUsers.count, 150)
  t.equal(addedUsers.first.length, 100)
  t.match(addedUsers.first, addedUsers.first.toSorted(), 'in the order of their names')
})

test('a backup of a newer version is refused, with both versions, before anything is planned', async (t) => {
  const { house, owner, filename, forge, refused } = await forgery(t)
  const withSteps = (statement: string) => (folder: string) => {
    using database = new DatabaseSync(join(folder, 'state/state.sqlite'))
    database.exec(statement)
  }
  const now = "'2030-01-01T00:00:00.000Z'"
  const kernelStep = (change: string) =>
    withSteps(`INSERT INTO kernel_schema (id, applied_at, change) VALUES ('99-later', ${now}, '${change}')`)
  const newer = (header: BackupHeader) => ({ ...header, nodekeep: '99.0.0' })
  await forge(kernelStep('contract'), newer)
  await refused(
    t,
    /made by Nodekeep 99\.0\.0\. This node, Nodekeep \d+\.\d+\.\d+, does not know .*"99-later" .* Update this node/,
    409,
  )

  const pluginStep = (id: string, change: string) =>
    withSteps(
      `INSERT INTO plugin_migrations (plugin, position, id, applied_at, migration_change) VALUES ('${id}', 0, '7-later', ${now}, '${change}')`,
    )
  const newerPlugin = (id: string) => (header: BackupHeader) => ({
    ...header,
    plugins: [...header.plugins.filter((one) => one.id !== id), { id, version: '99.0.0' }],
  })
  await forge(pluginStep('files', 'contract'), newerPlugin('files'))
  await refused(
    t,
    /the plugin "files" 99\.0\.0\. This node has "files" \d+\.\d+\.\d+, .*"7-later".* Update the plugin/,
    409,
  )

  // Additions, and the state of a plugin that this node does not have, do no harm.
  const harmless = [
    [kernelStep('expand'), newer],
    [pluginStep('files', 'expand'), newerPlugin('files')],
    [pluginStep('unknown', 'contract'), newerPlugin('unknown')],
    [pluginStep('storage-local', 'contract'), newer],
  ] as const
  for (const [change, changeHeader] of harmless) {
    await forge(change, changeHeader)
    t.equal((await restore(owner, { filename, confirm: false })).status, 200)
  }
  t.equal((await restore(owner, { filename, confirm: true })).status, 200)
  t.equal(await read((await house.start()).owner, '/a'), 'content')
})

test('a file of a forged backup is put back into the files of its user only', async (t) => {
  const { house, owner, filename, forge } = shared
  await forge(
    () => {},
    (header) => ({ ...header, mounts: { '/x/../../../escaped': 'files/local' } }),
  )
  const answer = await owner.fetch('/api/backup/put-back', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ filename, userUuid: owner.user.uuid, path: '/x' }),
  })
  t.match(await answer.json(), { error: true, message: /leads out of the folder/ })
  t.equal(answer.status, 400)
  t.notOk(existsSync(join(house.data, 'plugins/backup/escaped')))
})

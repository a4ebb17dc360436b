import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import {
  type BackupParticipant,
  BackupParticipants,
  type BackupSnapshot,
  definePlugin,
  NodeIdentity,
  type RegistryReader,
} from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { tokenHash } from '../../src/sessions/token.ts'
import { DatabaseSnapshots } from '../../src/state/database-snapshots.ts'
import { createTestNode, type TestNodeOptions } from '../../src/testing/create-test-node.ts'
import { takeSnapshot } from '../../src/testing/take-snapshot.ts'

const never = new AbortController().signal

interface Captured {
  sqliteFile(name: string): string
  participants: RegistryReader<BackupParticipant>
}

/** Starts a node with a plugin that has state with and without an end, a database and a cache. */
async function startNode(t: Test, options: TestNodeOptions = {}) {
  let captured: Captured | undefined
  const keeper = definePlugin({
    id: 'keeper',
    requires: { participants: BackupParticipants, identity: NodeIdentity },
    async setup({ participants, identity, state, sqliteFile, routes }) {
      captured = { participants, sqliteFile }
      routes((app) => void app.get('/kept', { config: { scope: 'keep' } }, () => ({})))
      await state.set('note', 'stays')
      await state.set('nonce', 'used-once', 5 * 60_000)
      await state.set('ledger', 'this month', 40 * 24 * 3600_000)
      for (const [name, inBackups] of [
        ['notes', true],
        ['cache', false],
      ] as const) {
        const database = new DatabaseSync(sqliteFile(name, { inBackups }))
        database.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)')
        database.close()
      }
      if (identity.nodeId === '') throw new Error('unreachable')
    },
  })
  const node = await createTestNode({ plugins: [keeper], ...options })
  t.teardown(() => node.stop())
  return { node, ...(captured as unknown as Captured) }
}

/** @param beforeHalt called when the participant is prepared */
async function take(
  participants: RegistryReader<BackupParticipant>,
  name: string,
  beforeHalt = () => {},
): Promise<BackupSnapshot> {
  const prepared = await participants.get(name)?.prepare(never)
  beforeHalt()
  return takeSnapshot(prepared)
}

/** Writes the entries of a snapshot into a folder. */
async function unpack(snapshot: BackupSnapshot, folder: string): Promise<string[]> {
  const paths: string[] = []
  for await (const { path, size, open } of snapshot.entries()) {
    const bytes = await buffer(open())
    if (bytes.length !== size) throw new Error(`${path} has ${bytes.length} bytes, not ${size}.`)
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), bytes)
    paths.push(path)
  }
  return paths
}

function rows(file: string, statement: string): Record<string, unknown>[] {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    return connection.prepare(statement).all()
  } finally {
    connection.close()
  }
}

test('the state in a backup is whole, without sessions, tokens, leases and entries that end soon', async (t) => {
  const { node, participants } = await startNode(t)
  const owner = await node.signIn('owner')
  const bob = await node.signIn()
  const sessions = await Promise.all(Array.from({ length: 30 }, () => node.signIn('owner')))
  const tokens = [owner, ...sessions].map(({ token }) => token)
  const body = JSON.stringify({ name: 'program', scopes: ['keep'] })
  const headers = { 'content-type': 'application/json' }
  const made = await owner.fetch('/api/account/tokens', { method: 'POST', body, headers })
  tokens.push(((await made.json()) as { token: string }).token)
  await owner.fetch('/api/account/sessions/revoke-all', { method: 'POST' })
  {
    using database = new DatabaseSync(join(node.dataFolder, 'state.sqlite'))
    database.exec("INSERT INTO leases VALUES ('work', 1, 9000000000000)")
  }

  const folder = t.testdir()
  const snapshot = await take(participants, 'state')
  await node.signIn()
  t.strictSame(await unpack(snapshot, folder), ['state.sqlite', 'users.json', 'plugins/keeper/notes.sqlite'])
  t.strictSame(await unpack(snapshot, folder), ['state.sqlite', 'users.json', 'plugins/keeper/notes.sqlite'])
  await snapshot.release()
  t.strictSame(readdirSync(join(node.dataFolder, 'state-copies')), [], 'the copies are gone')

  const state = join(folder, 'state.sqlite')
  t.strictSame(rows(state, 'SELECT * FROM sessions'), [])
  t.match(rows(state, 'SELECT name, fence, expires FROM leases'), [{ name: 'work', fence: 1, expires: 0 }])
  const entries = rows(state, "SELECT key FROM state WHERE namespace = 'keeper' ORDER BY key")
  t.strictSame(
    entries.map(({ key }) => key),
    ['ledger', 'note'],
  )
  t.match(rows(state, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
  t.equal(rows(state, 'SELECT * FROM users').length, 2, 'a later user is not there')
  t.strictSame(JSON.parse(readFileSync(join(folder, 'users.json'), 'utf8')), {
    [owner.user.uuid]: { username: owner.user.username, wallet: owner.user.wallet, owner: true },
    [bob.user.uuid]: { username: bob.user.username, wallet: bob.user.wallet, owner: false },
  })

  const raw = join(folder, 'raw.sqlite')
  const unclean = new DatabaseSnapshots(node.dataFolder).prepare()
  unclean.pin()
  await unclean.copyTo('state.sqlite', raw)
  await unclean.release()
  const holds = (file: string) => {
    const bytes = readFileSync(file)
    return tokens.some((token) => bytes.includes(tokenHash(token)))
  }
  t.ok(holds(raw), 'the database itself has hashes, also of sessions that ended')
  t.notOk(holds(state), 'no page of the copy has one')
  t.notOk(readFileSync(state).includes('used-once'))
})

test('the state is fixed while all others stand still', async (t) => {
  const { node, participants } = await startNode(t)
  const prepared = await participants.get('state')?.prepare(never)
  await node.signIn()
  const halted = await prepared?.halt()
  const snapshot = await halted?.fix()
  await node.signIn()
  await halted?.[Symbol.asyncDispose]()
  await prepared?.release()
  const folder = t.testdir()
  if (snapshot !== undefined) await unpack(snapshot, folder)
  await snapshot?.release()
  t.equal(rows(join(folder, 'state.sqlite'), 'SELECT * FROM users').length, 1)
})

test('what changes after the preparation is in a backup as it is at the moment', async (t) => {
  const { node, participants, sqliteFile } = await startNode(t)
  const folder = t.testdir()
  const snapshot = await take(participants, 'state', () => {
    using database = new DatabaseSync(sqliteFile('late'))
    database.exec('CREATE TABLE t (x); INSERT INTO t VALUES (7)')
  })
  t.ok((await unpack(snapshot, folder)).includes('plugins/keeper/late.sqlite'))
  await snapshot.release()
  t.match(rows(join(folder, 'plugins/keeper/late.sqlite'), 'SELECT x FROM t'), [{ x: 7 }])

  const key = join(node.dataFolder, 'identity', 'node.key')
  const changes = [
    [() => writeFileSync(key, 'another'), ['node.key']],
    [() => rmSync(key), []],
    [() => writeFileSync(key, 'new'), ['node.key']],
  ] as const
  for (const [change, expected] of changes) {
    t.strictSame(await unpack(await take(participants, 'identity', change), folder), expected)
    if (existsSync(key)) t.equal(readFileSync(join(folder, 'node.key'), 'utf8'), readFileSync(key, 'utf8'))
  }
})

test('a snapshot that is given up at any point leaves nothing', async (t) => {
  const { node, participants } = await startNode(t)
  const state = participants.get('state')
  const copies = () => readdirSync(join(node.dataFolder, 'state-copies'))

  const untaken = await state?.prepare(never)
  await untaken?.release()
  t.strictSame(copies(), [])

  const failed = await state?.prepare(never)
  const error = new Error('Another participant failed.')
  await t.rejects(
    takeSnapshot(failed, () => Promise.reject(error)),
    error,
  )
  t.strictSame(copies(), [])

  const taken = await state?.prepare(never)
  const snapshot = await takeSnapshot(taken)
  await snapshot?.release()
  t.strictSame(copies(), [])
  const entries = async () => {
    for await (const _ of snapshot?.entries() ?? []);
  }
  await t.rejects(entries(), { message: 'The snapshot is released.' })
  await t.rejects(async () => state?.prepare(AbortSignal.abort(error)), error)
})

test('copies that a crash left behind are removed at the next start', async (t) => {
  const dataFolder = t.testdir({ 'state-copies': { 'copies-x': { 'state.sqlite': 'left' } } })
  const { node } = await startNode(t, { dataFolder })
  t.notOk(existsSync(join(dataFolder, 'state-copies')))
  await node.stop()
})

test('the identity of the node is in a backup if the node has one', async (t) => {
  const { node, participants } = await startNode(t)
  const folder = t.testdir()
  t.strictSame(await unpack(await take(participants, 'identity'), folder), ['node.key'])
  const key = join(node.dataFolder, 'identity', 'node.key')
  t.equal(readFileSync(join(folder, 'node.key'), 'utf8'), readFileSync(key, 'utf8'))
  rmSync(key)
  t.strictSame(await unpack(await take(participants, 'identity'), folder), [])
})

test('the configuration files are in a backup as a person wrote them', async (t) => {
  const folder = t.testdir({ 'base.json': '// mine\n{ "extends": "nodekeep:minimal", "plugins": {} }' })
  const config = {
    extends: './base.json',
    plugins: { 'login-siwe': false, files: false, 'storage-local': false },
  }
  const { participants } = await startNode(t, { folder, config })
  const unpacked = join(folder, 'unpacked')
  const snapshot = await take(participants, 'configuration')
  t.strictSame(await unpack(snapshot, unpacked), ['base.json'], 'the preset of the node is not there')
  t.strictSame(await snapshot.omitted(), [])
  t.match(readFileSync(join(unpacked, 'base.json'), 'utf8'), /^\/\/ mine/)

  rmSync(join(folder, 'base.json'))
  const second = await take(participants, 'configuration')
  t.match(await second.omitted(), [{ what: 'base.json', why: /cannot be read/ }])

  const bare = await startNode(t)
  t.strictSame(await unpack(await take(bare.participants, 'configuration'), unpacked), [])
})

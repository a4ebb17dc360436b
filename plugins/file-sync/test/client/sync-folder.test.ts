// In a process of its own: it follows real folders for longer than others.
import { randomBytes } from 'node:crypto'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { openSyncFolder } from '../../src/client/index.ts'
import { createSyncNode } from '../fixtures/sync-node.ts'
import { type RunningSync, syncFolder, temporaryFolder, tree, until } from './fixtures/synced-folders.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

t.test('two folders of a user become the same, in both directions', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  await mkdir(join(one, 'notes/old'), { recursive: true })
  await writeFile(join(one, 'notes/a.txt'), 'from one')
  await utimes(join(one, 'notes/a.txt'), 1_600_000_000, 1_600_000_000)
  await writeFile(join(two, 'b.txt'), 'from two')
  const first = await syncFolder(t, node, user, { folder: one })
  const second = await syncFolder(t, node, user, { folder: two })
  await both(first, second, async () => (await tree(one)).length === 4 && (await tree(two)).length === 4)
  t.strictSame(await tree(one), ['b.txt: from two', 'notes', 'notes/a.txt: from one', 'notes/old'])
  t.strictSame(await tree(two), await tree(one))
  t.equal((await stat(join(two, 'notes/a.txt'))).mtimeMs, 1_600_000_000_000, 'the time of the file is kept')

  await writeFile(join(two, 'notes/a.txt'), 'changed')
  await both(first, second, async () => (await readFile(join(one, 'notes/a.txt'), 'utf8')) === 'changed')

  await rename(join(one, 'notes'), join(one, 'archive'))
  await both(first, second, async () => (await tree(two)).includes('archive/a.txt: changed'))
  await both(first, second, async () => !(await tree(two)).includes('notes'))
  t.strictSame(await tree(two), ['archive', 'archive/a.txt: changed', 'archive/old', 'b.txt: from two'])

  await rm(join(one, 'b.txt'))
  await both(first, second, async () => (await tree(two)).length === 3)
  const trash = await tree(join(two, '.nodekeep-sync/trash'))
  t.ok(
    trash.some((line) => /\/b [0-9a-f]+\.txt: from two$/.test(line)),
    'the trash has it',
  )
})

t.test('files that a program has rewritten with equal size and time are taken as they are', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  const revisionOf = async (path: string) => {
    const { headers } = await user.fetch(`/stat?path=${path}`)
    return headers.get('etag')?.slice(1, -1)
  }
  const files: { readonly path: string; readonly revision: string | undefined }[] = []
  for (const path of ['/a', '/b', '/c']) {
    await user.fetch(`/write?path=${path}`, { method: 'PUT', body: 'of before' })
    files.push({ path, revision: await revisionOf(path) })
  }
  await user.fetch('/api/sync/hashes', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ files }),
  })
  for (const { path } of files) {
    const stored = join(node.dataFolder, 'files', user.user.uuid, path)
    const { atime, mtime } = await stat(stored)
    await writeFile(stored, 'of now...', { flag: 'r+' })
    await utimes(stored, atime, mtime)
  }
  // The client compares both versions by their hashes, so it knows the one of before.
  await writeFile(join(folder, 'a'), 'of the device')
  await writeFile(join(folder, 'b'), 'of now...')
  await writeFile(join(folder, 'c'), 'of device')
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  const lines = await tree(folder)
  t.match(lines, [
    /^a \(conflict laptop .*: of the device$/,
    'a: of now...',
    'b: of now...',
    /^c \(conflict laptop .*: of device$/,
    'c: of now...',
  ])
  t.equal(lines.length, 5, 'equal bytes are no conflict')
  t.equal(await revisionOf('/b'), files[1]?.revision, 'and not stored again')
})

t.test('files keep times before 1970, small ones and those in blocks', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  const born = new Date('1943-02-17T01:02:03.456Z')
  for (const [name, bytes] of [
    ['small', 10],
    ['large', 3_000_000],
  ] as const) {
    await writeFile(join(one, name), randomBytes(bytes))
    await utimes(join(one, name), born, born)
  }
  const first = await syncFolder(t, node, user, { folder: one })
  const second = await syncFolder(t, node, user, { folder: two })
  await both(first, second, async () => (await tree(two)).length === 2)
  for (const name of ['small', 'large']) {
    const answer = await user.fetch(`/stat?path=/${name}`)
    t.match(await answer.json(), { modified: born.toISOString() }, `the node has the time of ${name}`)
    t.strictSame((await stat(join(two, name))).mtime, born, `the other device has the time of ${name}`)
  }
})

t.test('an edit at the moment at which a file of the node arrives is uploaded', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  const file = join(folder, 'note')
  const write = (body: string) => user.fetch('/write?path=/note', { method: 'PUT', body })
  const atArrival = async (isThere: () => boolean, edit: string) => {
    while (!isThere()) await setImmediate()
    writeFileSync(file, edit)
    await until(sync, async () => sync.status().isIdle)
    const there = await user.fetch('/read?path=/note')
    t.equal(await there.text(), edit)
    t.strictSame(await tree(folder), [`note: ${edit}`])
  }
  await write('first')
  await atArrival(() => existsSync(file), 'edit')
  const edited = statSync(file)
  await write('other')
  await atArrival(() => statSync(file).ino !== edited.ino, 'more')
})

t.test('a conflict keeps both versions on all devices', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(one, 'plan.txt'), 'of one')
  await writeFile(join(two, 'plan.txt'), 'of two')
  const first = await syncFolder(t, node, user, { folder: one, deviceName: 'desk' })
  await first.idle()
  const second = await syncFolder(t, node, user, { folder: two, deviceName: 'laptop' })
  await both(first, second, async () => (await tree(one)).length === 2 && (await tree(two)).length === 2)
  t.strictSame(await tree(one), await tree(two))
  t.match(await tree(one), [/^plan \(conflict laptop .*\)\.txt: of two$/, 'plan.txt: of one'])
})

t.test('a folder that goes on with another user is merged with their files', async (t) => {
  const [former, user] = [await node.signIn(), await node.signIn()]
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'notes'))
  await writeFile(join(folder, 'notes/a.txt'), 'wanted')
  const before = await syncFolder(t, node, former, { folder })
  await before.idle()
  await before.stop()
  await write(user, '/notes/b.txt', 'of the other')
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  const all = ['notes', 'notes/a.txt: wanted', 'notes/b.txt: of the other']
  t.strictSame(await tree(folder), all)
  t.equal(await (await user.fetch('/read?path=/notes/a.txt')).text(), 'wanted')
  t.equal(await (await former.fetch('/read?path=/notes/a.txt')).text(), 'wanted')
})

t.test('a large file is sent in blocks, also when bytes are inserted', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  const bytes = randomBytes(9_000_000)
  await writeFile(join(one, 'large.bin'), bytes)
  const first = await syncFolder(t, node, user, { folder: one })
  const second = await syncFolder(t, node, user, { folder: two })
  const isSame = (wanted: Buffer) => async () =>
    (await readFile(join(two, 'large.bin')).catch(() => Buffer.alloc(0))).equals(wanted)
  await both(first, second, isSame(bytes))
  const changed = Buffer.concat([
    bytes.subarray(0, 5_000_000),
    Buffer.from('inserted'),
    bytes.subarray(5_000_000),
  ])
  await writeFile(join(one, 'large.bin'), changed)
  await both(first, second, isSame(changed))
  t.pass('both have the changed file')
})

t.test('what cannot be synced is left alone', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, '.nodekeepignore'), '*.tmp\nbuild/\n')
  await mkdir(join(folder, 'build'))
  await writeFile(join(folder, 'build/a'), 'ignored')
  await writeFile(join(folder, 'b.tmp'), 'ignored')
  await writeFile(join(folder, 'C.TMP'), 'no rule names it')
  await symlink('/etc', join(folder, 'link'))
  await writeFile(join(folder, 'back\\slash'), 'the node cannot have it')
  await writeFile(Buffer.concat([Buffer.from(join(folder, 'no text ')), Buffer.from([0xff])]), '')
  await mkdir(join(folder, 'nested/.nodekeep-sync'), { recursive: true })
  await writeFile(join(folder, 'nested/.nodekeep-sync/state.sqlite'), 'of another client')
  await writeFile(join(folder, 'nested/a'), 'of another client')
  await write(user, '/link/passwd', 'from the node')
  await write(user, '/c.tmp', 'from the node')
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  t.strictSame(await names(user), ['.nodekeepignore', 'C.TMP', 'c.tmp', 'link'])
  const problems = Object.fromEntries(sync.status().problems)
  t.match(problems, {
    '/link': /Only files and folders/,
    '/back\\slash': /The node cannot have this name/,
    '/no text \ufffd': /no text in UTF-8/,
    '/nested': /another client syncs it, or did. Remove that folder/,
  })
  t.strictSame((await readdir(folder)).sort(), [
    '.nodekeep-sync',
    '.nodekeepignore',
    'C.TMP',
    'b.tmp',
    'back\\slash',
    'build',
    'link',
    'nested',
    'no text \ufffd',
  ])
})

t.test('clients in folders within each other leave each other alone', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  const inner = join(folder, 'photos/inner')
  await mkdir(inner, { recursive: true })
  await writeFile(join(folder, 'photos/a'), 'of the outer')
  const first = await syncFolder(t, node, user, { folder })
  await first.idle()
  const parts = { folder: inner, url: node.url, token: user.token, deviceName: 'x' }
  await t.rejects(openSyncFolder(parts), { kind: 'stop', message: /is in .*, which is synced already/ })
  t.strictSame(await tree(inner), [])
  await first.stop()

  // The inner folder was synced before.
  await rename(join(folder, '.nodekeep-sync'), join(folder, 'photos/away'))
  const second = await syncFolder(t, node, user, { folder: inner })
  await second.idle()
  await rm(join(inner, 'photos'), { recursive: true })
  await until(second, async () => (await names(user)).length === 0)
  await second.stop()
  await rm(join(folder, 'photos/away'), { recursive: true })
  const outer = await syncFolder(t, node, user, { folder })
  await outer.idle()
  t.match(outer.status().problems.get('/photos/inner'), /another client syncs it/)
  t.strictSame(await names(user, '/photos'), ['a'])
  await writeFile(join(inner, 'b'), 'beside it')
  await writeFile(join(folder, 'c'), 'of the outer')
  await until(outer, async () => (await names(user)).includes('c'))
  t.strictSame(await names(user, '/photos'), ['a'])

  await rm(join(inner, '.nodekeep-sync'), { recursive: true })
  await until(outer, async () => (await names(user, '/photos')).includes('inner'))
  await until(outer, async () => (await names(user, '/photos/inner')).length === 1)
  await outer.idle()
  t.equal(outer.status().problems.size, 0)
})

t.test('a folder that was copied with its state goes on as a device of its own', async (t) => {
  const user = await node.signIn()
  const [one, base] = [await temporaryFolder(t), await temporaryFolder(t)]
  const two = join(base, 'copy')
  await writeFile(join(one, 'a'), 'of both')
  const before = await syncFolder(t, node, user, { folder: one })
  await before.idle()
  await before.stop()
  await cp(one, two, { recursive: true, preserveTimestamps: true })
  const told: string[] = []
  const onTrouble = (message: string) => told.push(message)
  const first = await syncFolder(t, node, user, { folder: one, onTrouble })
  await first.idle()
  const second = await syncFolder(t, node, user, { folder: two, onTrouble })
  await until(first, async () => told.length > 0)
  await both(first, second, async () => (await connected(user)).length === 2)
  await writeFile(join(one, 'b'), 'of one')
  await rm(join(two, 'a'))
  await both(first, second, async () => (await tree(one)).length === 1 && (await tree(two)).length === 1)
  t.strictSame(await tree(one), ['b: of one'])
  t.strictSame(await tree(two), ['b: of one'])
  t.match(told, [/copied together with its "\.nodekeep-sync".* goes on as a new device/])
  t.equal(told.length, 1)
})

t.test('a folder that is named by a symbolic link is watched', async (t) => {
  const user = await node.signIn()
  const [folder, base] = [await temporaryFolder(t), await temporaryFolder(t)]
  await symlink(folder, join(base, 'link'))
  const sync = await syncFolder(t, node, user, { folder: join(base, 'link') })
  await sync.idle()
  await writeFile(join(folder, 'a'), 'live')
  await until(sync, async () => (await names(user)).length === 1)
  t.strictSame(await names(user), ['a'])
})

t.test('floods by other programs reach the node whole, and nothing twice', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  const sync = await syncFolder(t, node, user, { folder, deletionLimits: { files: 10_000, share: 1 } })
  await sync.idle()
  const page = async (query: string) => {
    const answer = await user.fetch(`/api/files/changes${query}`)
    return (await answer.json()) as { changes: { op: string; path: string; size?: number }[]; cursor: string }
  }
  const local = async () => (await tree(folder)).map((line) => line.replace(/:.*/, ''))
  let { cursor } = await page('')
  /** Lets a program run. Returns the changes of the feed when the node has what the folder has. */
  const flood = async (program: () => Promise<void>) => {
    await program()
    const wanted = await local()
    const changes: string[] = []
    await until(sync, async () => {
      const next = await page(`?after=${cursor}&limit=1000`)
      cursor = next.cursor
      changes.push(...next.changes.map(({ op, path, size = '' }) => `${op} ${path} ${size}`))
      const { isIdle, synced } = sync.status()
      return next.changes.length === 0 && changes.length > 0 && isIdle && synced === wanted.length
    })
    t.strictSame(await local(), wanted, 'the folder stays as the program left it')
    t.equal(new Set(changes).size, changes.length, 'nothing is told twice')
    return changes
  }
  const count = (changes: string[], op: string) =>
    changes.filter((change) => change.startsWith(`${op} `)).length
  const store = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const modules = await flood(async () => {
    for (let n = 0; n < 1000; n += 1) await store(`modules/${n % 100}/lib/${n}.js`, `${n}`)
  })
  t.equal(count(modules, 'write'), 1000)
  await flood(async () => {
    for (let n = 0; n < 100; n += 1) await store(`photos/${n}`, `${n}`)
  })
  const renamed = await flood(() => rename(join(folder, 'photos'), join(folder, 'pictures')))
  t.match({ moves: count(renamed, 'move'), writes: count(renamed, 'write') }, { moves: 100, writes: 0 })
  const checkOut = async (branch: string, former: string) => {
    await rm(join(folder, 'repository', former), { recursive: true, force: true })
    for (let n = 0; n < 100; n += 1) {
      const path = `repository/src/${n % 10}/${n}`
      // git removes a file that differs, and makes it anew.
      await rm(join(folder, path), { force: true })
      await store(path, `${n} of ${branch}`)
      await store(`repository/${branch}/${n}`, `${n} only there`)
    }
  }
  await flood(() => checkOut('main', 'feature'))
  await flood(() => checkOut('feature', 'main'))
  t.equal(await (await user.fetch('/read?path=/repository/src/9/99')).text(), '99 of feature')
})

t.test('many deletions wait for the person', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  for (let n = 0; n < 6; n += 1) {
    await mkdir(join(folder, `${n}`))
    await writeFile(join(folder, `${n}/file`), `${n}`)
  }
  const sync = await syncFolder(t, node, user, { folder, deletionLimits: { files: 3, share: 0.5 } })
  await until(sync, async () => sync.status().isIdle && sync.status().synced === 12)
  for (let n = 0; n < 5; n += 1) await rm(join(folder, `${n}`), { recursive: true })
  await until(sync, async () => sync.status().heldDeletions === 5)
  t.equal((await names(user)).length, 6)
  sync.confirmDeletions()
  await until(sync, async () => (await names(user)).length === 1)
  t.strictSame(await names(user), ['5'])
})

t.test('a folder that is gone is no deletion', async (t) => {
  const user = await node.signIn()
  const folder = join(await temporaryFolder(t), 'mounted')
  await mkdir(folder)
  await writeFile(join(folder, 'a'), 'wanted')
  const sync = await syncFolder(t, node, user, { folder })
  await until(sync, async () => (await names(user)).length === 1)
  await rename(folder, `${folder}-away`)
  await mkdir(folder)
  await t.rejects(sync.ended, { kind: 'stop', message: /Mount its disk/ })
  t.strictSame(await names(user), ['a'])
  const again = openSyncFolder({ folder, url: node.url, token: user.token, deviceName: 'x', wasSynced: true })
  await t.rejects(again, { message: /was synced before/ })
})

t.test('a folder whose state is damaged or of another node begins anew, and deletes nothing', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'a'), 'wanted')
  const sync = await syncFolder(t, node, user, { folder })
  await until(sync, async () => (await names(user)).length === 1)
  await sync.stop()
  const parts = { folder, url: node.url, token: user.token, deviceName: 'x', wasSynced: true }
  const elsewhere = { ...parts, url: new URL('http://127.0.0.1:9') }
  await t.rejects(openSyncFolder(elsewhere), { kind: 'stop', message: /begin anew with "--link"/ })
  const opened = await openSyncFolder({ ...elsewhere, isAnew: true })
  await t.rejects(openSyncFolder({ ...parts, isAnew: true }), { kind: 'stop', message: /Another client/ })
  opened[Symbol.dispose]()
  await writeFile(join(folder, '.nodekeep-sync/state.sqlite'), 'damaged '.repeat(1000))
  await t.rejects(openSyncFolder(parts), { kind: 'stop', message: /cannot be read.* anew with "--link"/ })
  await write(user, '/b', 'of the node')
  await rm(join(folder, 'a'))
  await (await syncFolder(t, node, user, { ...parts, isAnew: true })).idle()
  t.strictSame(await tree(folder), ['a: wanted', 'b: of the node'])
})

t.test('a second client of a folder is refused', async (t) => {
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  const again = () => openSyncFolder({ folder, url: node.url, token: user.token, deviceName: 'second' })
  await t.rejects(again(), { kind: 'stop', message: /Another client/ })
  await sync.stop()
  const opened = await again()
  opened[Symbol.dispose]()
})

t.test('a file that is written again and again arrives whole', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  const first = await syncFolder(t, node, user, { folder: one })
  const second = await syncFolder(t, node, user, { folder: two })
  let text = ''
  for (let n = 0; n < 50; n += 1) {
    text += `line ${n}\n`
    await appendFile(join(one, 'log'), `line ${n}\n`)
  }
  await both(first, second, async () => (await readFile(join(two, 'log'), 'utf8').catch(() => '')) === text)
  t.strictSame(await tree(one), await tree(two), 'there is no conflict copy')
})

t.test('a token that is not valid stops the client', async (t) => {
  const folder = await temporaryFolder(t)
  const sync = await syncFolder(t, node, { token: 'wrong' }, { folder })
  await t.rejects(sync.ended, { kind: 'stop', message: /token/ })
})

/** The devices of a user that are connected. */
async function connected(user: TestUser): Promise<unknown[]> {
  const answer = await user.fetch('/api/sync/devices')
  const { devices } = (await answer.json()) as { devices: { connected: boolean }[] }
  return devices.filter((device) => device.connected)
}

/** Waits until two clients have a state. */
async function both(first: RunningSync, second: RunningSync, isThere: () => Promise<boolean>): Promise<void> {
  await until(first, isThere)
  await first.idle()
  await second.idle()
}

async function names(user: TestUser, folder = '/'): Promise<string[]> {
  const answer = await user.fetch(`/api/files/list?path=${folder}`)
  const { entries } = (await answer.json()) as { entries: { name: string }[] }
  return entries.map(({ name }) => name)
}

async function write(user: TestUser, path: string, text: string): Promise<void> {
  const answer = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body: text })
  await answer.arrayBuffer()
}

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { createBackupNode, makeBackup, put } from '../fixtures/backup-node.ts'
import { borrow } from '../fixtures/borrow.ts'

async function giveBack(owner: TestUser): Promise<number> {
  return (await owner.fetch('/api/backup/moment', { method: 'DELETE' })).status
}

async function start(t: Test, options: Parameters<typeof createBackupNode>[0] = {}) {
  const node = await createBackupNode(options)
  t.teardown(() => node.stop())
  return { node, owner: await node.signIn('owner'), ada: await node.signIn() }
}

/** Resolves when a path is gone. The time limit of the test ends the wait. */
async function gone(path: string): Promise<void> {
  while (existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 5))
}

function remove(user: TestUser, path: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return user.fetch('/delete', { method: 'POST', body: JSON.stringify({ path }), headers })
}

const home = (node: TestNode, user: TestUser) => join(node.dataFolder, 'files', user.user.uuid)

test('a view has the layout of an archive, of hard links, and stays as it is', async (t) => {
  const { node, owner, ada } = await start(t)
  await put(ada, '/notes/hello.txt', 'hello')
  await put(ada, '/gone.txt', 'gone')
  const view = await borrow(owner)
  const files = join(view.path, 'files/local', ada.user.uuid)
  const original = statSync(join(home(node, ada), 'notes/hello.txt'))
  const linked = statSync(join(files, 'notes/hello.txt'))
  t.equal(linked.ino, original.ino, 'the file is not copied')
  t.strictSame(linked.mtime, original.mtime)
  t.match(JSON.parse(readFileSync(join(view.path, 'backup.json'), 'utf8')), { format: 1, omitted: [] })
  t.equal(statSync(view.path).mode & 0o777, 0o700)

  await put(ada, '/notes/hello.txt', 'changed')
  await put(ada, '/later.txt', 'later')
  await remove(ada, '/gone.txt')
  t.equal(readFileSync(join(files, 'notes/hello.txt'), 'utf8'), 'hello')
  t.equal(readFileSync(join(files, 'gone.txt'), 'utf8'), 'gone')
  t.strictSame(readdirSync(files).sort(), ['gone.txt', 'notes'])

  await t.rejects(borrow(owner), /A moment is lent already/)
  const { filename } = await makeBackup(owner)
  t.equal(await giveBack(owner), 200)
  t.strictSame(readdirSync(join(node.dataFolder, 'backups')), [filename], 'the view is gone')
  t.equal(await giveBack(owner), 404)
  t.equal((await borrow(owner)).path, view.path, 'the path is the same each time')
})

test('a view of copies shares nothing with the node', async (t) => {
  const { node, owner, ada } = await start(t)
  await put(ada, '/hello.txt', 'hello')
  const view = await borrow(owner, '?copies=true')
  const copy = join(view.path, 'files/local', ada.user.uuid, 'hello.txt')
  const milliseconds = (file: string) => statSync(file, { bigint: true }).mtimeMs
  t.equal(milliseconds(copy), milliseconds(join(home(node, ada), 'hello.txt')))
  writeFileSync(copy, 'changed')
  t.equal(await (await ada.fetch('/read?path=/hello.txt')).text(), 'hello')
})

test('a view is removed when its client is gone, and when the node stops', async (t) => {
  const { node, owner, ada } = await start(t)
  await put(ada, '/hello.txt', 'hello')
  const first = await borrow(owner)
  first.leave()
  await gone(first.path)
  // The disk may still be busy with what is not to be seen any more.
  await giveBack(owner)
  const second = await borrow(owner)
  await node.stop()
  t.notOk(existsSync(second.path))
  while (!(await second.events.next()).done);
})

test('the next start removes the view that a crash has left', async (t) => {
  const dataFolder = t.testdir()
  const view = join(dataFolder, 'backups/moment')
  mkdirSync(join(view, 'files/local'), { recursive: true })
  writeFileSync(join(view, 'files/local/hello.txt'), 'hello')
  await start(t, { dataFolder })
  await gone(view)
})

test('only the owner borrows a view', async (t) => {
  const { node, ada } = await start(t)
  t.equal((await ada.fetch('/api/backup/moment', { method: 'POST' })).status, 403)
  t.equal((await ada.fetch('/api/backup/moment', { method: 'DELETE' })).status, 403)
  t.equal((await node.fetch('/api/backup/moment', { method: 'POST' })).status, 401)
  t.notOk(existsSync(join(node.dataFolder, 'backups')))
})

test('paths of 4,096 bytes are in a view', { skip: process.platform !== 'linux' }, async (t) => {
  const { owner, ada } = await start(t)
  const before = process.cwd()
  const path = `${`/${'ä'.repeat(100)}`.repeat(20)}/${'x'.repeat(75)}`
  t.equal(Buffer.byteLength(path), 4096)
  await put(ada, path, 'deep')
  for (const query of ['', '?copies=true']) {
    const view = await borrow(owner, query)
    process.chdir(join(view.path, 'files/local', ada.user.uuid))
    t.teardown(() => process.chdir(before))
    t.equal(readFileSync(path.slice(1), 'utf8'), 'deep')
    process.chdir(before)
    await giveBack(owner)
    t.notOk(existsSync(view.path))
  }
  // A plain removal of the data folder would not reach it.
  await remove(ada, `/${path.split('/')[1]}`)
})

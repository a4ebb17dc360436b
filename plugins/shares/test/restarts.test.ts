import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { begin, offsetOf, patch } from './fixtures/guest-uploads.ts'
import { call, createShareNode, link, put, read, shareOf, untilState } from './fixtures/share-node.ts'

/** Gives the databases the tables that the version of the node before had. */
function toFormerVersion(folder: string): void {
  for (const [file, statements] of [
    ['shares.sqlite', 'DROP TABLE counted_uploads;'],
    [
      'not-in-backups/uses.sqlite',
      `DROP INDEX uploads_of_share; ALTER TABLE uploads DROP COLUMN began; ALTER TABLE uploads DROP COLUMN finished;`,
    ],
  ] as const) {
    const database = new DatabaseSync(join(folder, file))
    database.exec(`${statements} PRAGMA user_version = 1`)
    database.close()
  }
}

t.test('links and uploads go on after a restart, also with another version', async (t) => {
  const dataFolder = t.testdir()
  let node = await createShareNode({ dataFolder })
  t.teardown(() => node.stop())
  const ada = await node.signIn('owner')
  await call(ada, 'POST', '/mkdir', { path: '/in' })
  const { path } = await link(ada, '/in', { kind: 'both', maxFiles: 1 })
  const address = (await begin(node, path, 'a.txt', 6)).headers.get('location') ?? ''
  await patch(node, address, 0, '012')
  const ofNetwork = await link(ada, '/in', { kind: 'drop' })
  for (let open = 0; open < 64; open += 1)
    t.equal((await begin(node, ofNetwork.path, `${open}.txt`, 1)).status, 201)

  // An upload that was announced 31 minutes ago, of which nothing arrived: an empty request is none of its bytes.
  const announced = await link(ada, '/in', { kind: 'drop', maxFiles: 1 })
  const old = (await begin(node, announced.path, 'old.txt', 6)).headers.get('location') ?? ''
  const database = new DatabaseSync(join(dataFolder, 'plugins/shares/not-in-backups/uses.sqlite'))
  const before = Date.now() - 31 * 60 * 1000
  database.prepare('UPDATE uploads SET used = ? WHERE share = ?').run(before, announced.id)
  database.close()
  t.equal((await patch(node, old, 0, '')).status, 204)
  await node.stop()
  toFormerVersion(join(dataFolder, 'plugins/shares'))

  node = await createShareNode({ dataFolder })
  while ((await begin(node, path, 'b.txt', 1)).status !== 507) await delay(20)
  t.equal(await offsetOf(node, address), 3)
  t.equal((await patch(node, address, 3, '345')).status, 204)
  t.equal((await begin(node, ofNetwork.path, 'c.txt', 1)).status, 429, 'they count as before')
  while ((await begin(node, announced.path, 'new.txt', 1)).status === 507) await delay(20)
  t.equal((await patch(node, old, 0, '012345')).status, 404)
  t.equal(await read(await node.signIn('owner'), '/in/a.txt'), '012345')
})

/** The configuration of a node with a second disk, which may be away. */
const withDisk = (root: string) => ({
  storage: { mounts: { '/': 'local', '/disk': 'disk' } },
  disk: { root },
  plugins: { disk: { from: 'storage-local', required: false } },
})

t.test('a disk that is away closes no link', async (t) => {
  const folder = t.testdir({ data: {} })
  const [dataFolder, root] = [join(folder, 'data'), join(folder, 'disk')]
  const config = withDisk(root)
  const start = async () => {
    const node = await createShareNode({ dataFolder, config })
    t.teardown(() => node.stop())
    return { node, ada: await node.signIn('owner') }
  }
  const first = await start()
  await put(first.ada, '/disk/a/x.txt', 'x')
  const { path, id } = await link(first.ada, '/disk/a')
  await first.node.stop()

  await rename(root, `${root} away`)
  await writeFile(root, 'no folder')
  const without = await start()
  // A change of files checks all links of their user.
  await put(without.ada, '/b.txt', 'b')
  t.equal((await without.node.fetch(path)).status, 503)
  t.match(await shareOf(without.ada, id), { state: 'open', path: '/disk/a' })
  await without.node.stop()

  await rm(root)
  await rename(`${root} away`, root)
  const { node } = await start()
  t.equal(await (await node.fetch(`${path}/file?path=/x.txt`)).text(), 'x')
})

t.test(
  'while a disk is away that nobody has looked at, a deletion on another one closes its link',
  async (t) => {
    const node = await createShareNode({ config: { storage: { mounts: { '/': 'local', '/far': 'away' } } } })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    await put(ada, '/a/b/x.txt', 'x')
    const links = [await link(ada, '/a'), await link(ada, '/a/b')]
    await call(ada, 'POST', '/delete', { path: '/a' })
    for (const { path, id } of links) {
      await untilState(ada, id, 'gone')
      t.equal((await node.fetch(path)).status, 404)
    }
    const { items } = (await (await ada.fetch('/api/files/trash')).json()) as { items: { id: string }[] }
    await call(ada, 'POST', '/api/files/trash/restore', { id: items[0]?.id })
    for (const { path, id } of links) {
      await untilState(ada, id, 'back')
      t.equal((await node.fetch(path)).status, 404, 'nobody was asked yet')
    }
  },
)

/** Makes the journal of files begin anew, as a restore does. */
async function removeJournal(dataFolder: string): Promise<void> {
  for (const end of ['', '-wal', '-shm'])
    await rm(join(dataFolder, `plugins/files/not-in-backups/journal.sqlite${end}`), { force: true })
}

/** Waits until the node knows whether a link works, and returns the status of its page. */
async function statusOf(node: TestNode, path: string): Promise<number> {
  for (;;) {
    const { status } = await node.fetch(path)
    if (status !== 503) return status
    await delay(50)
  }
}

t.test('after a restore, links to a disk that is away stay, and others end', async (t) => {
  const folder = t.testdir({ data: {}, backup: { a: '' } })
  const [dataFolder, root] = [join(folder, 'data'), join(folder, 'disk')]
  const config = withDisk(root)
  const first = await createShareNode({ dataFolder, config })
  const ada = await first.signIn('owner')
  await put(ada, '/disk/a/x.txt', 'x')
  await put(ada, '/gone/x.txt', 'x')
  const { path } = await link(ada, '/disk/a')
  const gone = await link(ada, '/gone')
  await call(ada, 'POST', '/delete', { path: '/gone', permanent: true })
  await first.stop()
  await removeJournal(dataFolder)
  await rename(root, `${root} away`)
  await writeFile(root, 'no folder')
  const without = await createShareNode({ dataFolder, config, restored: { other: join(folder, 'backup') } })
  t.teardown(() => without.stop())
  t.equal(await statusOf(without, gone.path), 404)
  t.equal((await without.fetch(path)).status, 503)
  await without.stop()
  await rm(root)
  await rename(`${root} away`, root)
  const node = await createShareNode({ dataFolder, config })
  t.teardown(() => node.stop())
  t.equal(await statusOf(node, path), 200)
})

t.test('after a restore, links find their folders by their paths', async (t) => {
  const folder = t.testdir({ data: {}, backup: { a: '' } })
  const dataFolder = join(folder, 'data')
  const first = await createShareNode({ dataFolder })
  const ada = await first.signIn('owner')
  await put(ada, '/in/a.txt', 'a')
  await put(ada, '/gone/a.txt', 'a')
  const { path } = await link(ada, '/in')
  const gone = await link(ada, '/gone')
  await call(ada, 'POST', '/delete', { path: '/gone', permanent: true })
  await first.stop()
  await removeJournal(dataFolder)
  const node = await createShareNode({ dataFolder, restored: { other: join(folder, 'backup') } })
  t.teardown(() => node.stop())
  t.equal(await statusOf(node, path), 200)
  t.equal(await (await node.fetch(`${path}/file?path=/a.txt`)).text(), 'a')
  t.equal((await node.fetch(gone.path)).status, 404)
})

t.test('a deletion closes a link that the plugin did not see', async (t) => {
  const dataFolder = t.testdir()
  const first = await createShareNode({ dataFolder })
  const ada = await first.signIn('owner')
  await put(ada, '/a/x.txt', 'x')
  const { path, id } = await link(ada, '/a')
  await first.stop()

  const without = await createShareNode({ dataFolder, config: { plugins: { shares: false } } })
  t.teardown(() => without.stop())
  const away = await without.signIn('owner')
  await call(away, 'POST', '/delete', { path: '/a' })
  await without.stop()

  const node = await createShareNode({ dataFolder })
  t.teardown(() => node.stop())
  // The list and the page of a link would check it, too.
  const database = new DatabaseSync(join(dataFolder, 'plugins/shares/shares.sqlite'), { readOnly: true })
  t.teardown(() => database.close())
  while (database.prepare('SELECT closed FROM shares WHERE id = ?').get(id)?.closed !== 1) await delay(20)
  const again = await node.signIn('owner')
  const { items } = (await (await again.fetch('/api/files/trash')).json()) as { items: { id: string }[] }
  await call(again, 'POST', '/api/files/trash/restore', { id: items[0]?.id })
  await untilState(again, id, 'back')
  t.equal((await node.fetch(path)).status, 404, 'nobody was asked yet')
})

t.test('of a link that was removed when the node was killed, nothing stays', async (t) => {
  const dataFolder = t.testdir()
  const first = await createShareNode({ dataFolder })
  t.teardown(() => first.stop())
  const ada = await first.signIn('owner')
  await call(ada, 'POST', '/mkdir', { path: '/in' })
  const { path, id } = await link(ada, '/in', { kind: 'both' })
  const other = await link(ada, '/in', { kind: 'both' })
  for (const address of [path, other.path]) {
    t.equal((await first.fetch(address)).status, 200)
    t.equal((await begin(first, address, 'a.txt', 6)).status, 201)
  }
  await first.stop()
  const folder = join(dataFolder, 'plugins/shares')
  const links = new DatabaseSync(join(folder, 'shares.sqlite'))
  links.prepare('DELETE FROM shares WHERE id = ?').run(id)
  links.close()

  const node = await createShareNode({ dataFolder })
  t.teardown(() => node.stop())
  const uses = new DatabaseSync(join(folder, 'not-in-backups/uses.sqlite'), { readOnly: true })
  t.teardown(() => uses.close())
  for (const table of ['uses', 'counts', 'uploads'])
    t.strictSame(
      uses
        .prepare(`SELECT share FROM ${table}`)
        .all()
        .map(({ share }) => share),
      [other.id],
      table,
    )
})

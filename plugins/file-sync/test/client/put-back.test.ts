// In a process of its own: it follows real folders for longer than others.
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { TestNode } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { copyData } from '../fixtures/copy-data.ts'
import { createSyncNode, put } from '../fixtures/sync-node.ts'
import { syncFolder, temporaryFolder } from './fixtures/synced-folders.ts'

for (const { copies, keepsInodes } of [
  { copies: 'the snapshot of a disk', keepsInodes: true },
  { copies: 'a copy of its files', keepsInodes: false },
]) {
  t.test(`a node whose data folder is put back from ${copies} takes nothing from devices`, async (t) => {
    const [dataFolder, kept] = [
      join(await temporaryFolder(t), 'data'),
      join(await temporaryFolder(t), 'kept'),
    ]
    const address = await steadyAddress(t)
    const start = async () => {
      const node = await createSyncNode({ dataFolder })
      address.node = node
      return node
    }
    const before = await start()
    const user = await before.signIn('owner')
    const folders = [await temporaryFolder(t), await temporaryFolder(t)] as const
    const sync = () =>
      Promise.all(
        folders.map((folder, index) =>
          syncFolder(t, address, user, { folder, deviceName: `device ${index}` }),
        ),
      )
    const former = await sync()
    await writeFile(join(folders[0], 'edit.txt'), 'edit 1')
    await mkdir(join(folders[0], 'folder'))
    await writeFile(join(folders[0], 'folder/removed.txt'), 'unwanted')
    await untilEqual(former, folders, ['edit.txt: edit 1', 'folder/removed.txt: unwanted'])
    await before.stop()
    await copyData(dataFolder, kept, keepsInodes)

    const later = await start()
    await writeFile(join(folders[0], 'edit.txt'), 'edit 2')
    await writeFile(join(folders[0], 'new.txt'), 'new')
    await untilEqual(former, folders, ['edit.txt: edit 2', 'folder/removed.txt: unwanted', 'new.txt: new'])
    await Promise.all(former.map(({ stop }) => stop()))
    await later.stop()
    await rm(dataFolder, { recursive: true })
    await rename(kept, dataFolder)

    const after = await start()
    const owner = { ...user, fetch: withToken(after, user.token) }
    // The journal gets the numbers once more that the devices have acknowledged.
    const names = Array.from({ length: 12 }, (_, count) => `later ${String(count).padStart(2, '0')}.txt`)
    for (const name of names) await put(owner, `/${name}`, name)
    const wanted = names.map((name) => `${name}: ${name}`)
    const again = await sync()
    const all = ['edit.txt: edit 2', 'folder/removed.txt: unwanted', ...wanted, 'new.txt: new']
    const found = await untilEqual(again, folders, all, (line) => !line.includes('(conflict '))
    const copies = found.filter((line) => line.includes('(conflict '))
    for (const line of copies)
      t.match(line, /^edit \(conflict .*\)\.txt: edit 1$/, 'the older version is kept, too')
    t.strictSame((await contentsOf(join(dataFolder, 'files', user.user.uuid))).sort(), found)
    await after.stop()
  })
}

/** An address that leads to the node of the moment. A device belongs to one address. */
async function steadyAddress(t: Test): Promise<{ node: TestNode | null; readonly url: URL }> {
  const server = createServer((socket) => {
    const port = Number(address.node?.url.port ?? 1)
    const upstream = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const address = { node: null as TestNode | null, url: new URL(`http://127.0.0.1:${port}`) }
  return address
}

function withToken(node: TestNode, token: string): TestNode['fetch'] {
  return (path, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${token}`)
    return node.fetch(path, { ...init, headers })
  }
}

/** Waits until all folders have the same, and what is wanted of it. */
async function untilEqual(
  syncs: Awaited<ReturnType<typeof syncFolder>>[],
  folders: readonly string[],
  wanted: readonly string[],
  isMeant: (line: string) => boolean = () => true,
): Promise<string[]> {
  for (;;) {
    const found = (await Promise.all(folders.map(contentsOf))).map((lines) => lines.sort())
    const [first = []] = found
    const isDone = found.every((lines) => JSON.stringify(lines) === JSON.stringify(first))
    const isIdle = syncs.every(({ status }) => status().isIdle)
    if (isIdle && isDone && JSON.stringify(first.filter(isMeant)) === JSON.stringify([...wanted].sort()))
      return first
    await Promise.race(syncs.map(({ changed }) => changed()))
  }
}

/** The files below a folder with their contents. */
async function contentsOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('.nodekeep'))
  return Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      return `${path.slice(folder.length + 1)}: ${await readFile(path, 'utf8').catch(() => 'gone')}`
    }),
  )
}

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { syncFolder, temporaryFolder } from '../client/fixtures/synced-folders.ts'
import { createSyncNode } from '../fixtures/sync-node.ts'

/** Damages that real disks and copies do to files. */
const damages = {
  garbage: (file: string) => writeFile(file, randomBytes(20_000)),
  async cut(file: string) {
    await truncate(file, Math.floor((await stat(file)).size / 2))
  },
  async 'a page overwritten'(file: string) {
    await using handle = await open(file, 'r+')
    await handle.write(randomBytes(4096), 0, 4096, 4096)
  },
}

/** The databases that can be made anew, and the damages that are tried on each. */
const databases: Record<
  string,
  { readonly path: string; readonly kinds: readonly (keyof typeof damages)[] }
> = {
  journal: {
    path: 'plugins/files/not-in-backups/journal.sqlite',
    kinds: ['cut', 'a page overwritten'],
  },
  devices: { path: 'plugins/file-sync/devices.sqlite', kinds: ['garbage'] },
  content: { path: 'plugins/file-sync/not-in-backups/content.sqlite', kinds: ['a page overwritten'] },
}

t.test('a node goes on without a damaged database, and devices lose nothing', async (t) => {
  const [data, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
  const warnings: Record<string, string>[] = []
  const onLog = (line: string) => {
    if (line.includes('is damaged')) warnings.push(JSON.parse(line))
  }
  const start = () => createSyncNode({ dataFolder: data, onLog })
  let node: TestNode = await start()
  t.teardown(() => node.stop())
  // The node has another port after each start, and the client knows one address.
  const door = createServer((client) => {
    const upstream = connect(Number(node.url.port), node.url.hostname)
    pipeline(client, upstream, client, () => {})
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  t.teardown(() => door.close())
  const url = new URL(`http://127.0.0.1:${(door.address() as AddressInfo).port}`)

  const owner = await node.signIn('owner')
  const namesOnNode = async () => {
    const headers = { authorization: `Bearer ${owner.token}` }
    const answer = await node.fetch('/readdir?path=/', { headers })
    return ((await answer.json()) as { name: string }[]).map(({ name }) => name).sort()
  }
  await writeFile(join(folder, 'first'), 'first')
  const wanted = ['first']
  /** Runs the client of the device until the node has all its files. A client that runs on would pause longer after each stop. */
  const sync = async () => {
    const client = await syncFolder(t, { url }, owner, { folder })
    while ((await namesOnNode()).join() !== wanted.join()) await delay(20)
    await client.idle()
    await client.stop()
  }
  await sync()

  for (const [name, { path, kinds }] of Object.entries(databases)) {
    for (const kind of kinds) {
      await node.stop()
      const file = join(data, path)
      await damages[kind](file)
      const damaged = await readFile(file)
      wanted.push(`with ${name} ${kind}`)
      wanted.sort()
      await writeFile(join(folder, `with ${name} ${kind}`), kind)
      warnings.length = 0
      node = await start()
      await sync()
      while (warnings.length === 0) await delay(20)
      t.match(warnings, [
        { level: 'warn', file, setAside: `${file}.damaged`, msg: / begins with a new one\. \S/ },
      ])
      t.equal(warnings.length, 1)
      t.same(await readFile(`${file}.damaged`), damaged, `${name}, ${kind}: the damaged file is kept`)
      t.equal((await stat(file)).mode & 0o777, 0o600)
    }
    const aside = (await readdir(join(data, path, '..'))).filter((entry) => entry.endsWith('.damaged'))
    t.equal(aside.filter((entry) => entry.startsWith(name)).length, 1, 'one is kept')
  }

  await node.stop()
  for (const { path } of Object.values(databases)) await truncate(join(data, path), 0)
  wanted.push('with empty files')
  wanted.sort()
  await writeFile(join(folder, 'with empty files'), 'empty')
  node = await start()
  await sync()
  const there = (await readdir(folder)).filter((entry) => entry !== '.nodekeep-sync').sort()
  t.strictSame(there, wanted, 'the device has all files, and no copies of conflicts')
})

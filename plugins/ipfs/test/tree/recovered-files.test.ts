import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { createIpfsBackend } from '../../src/tree/ipfs-driver.ts'
import { newFolder, openBackend, removeFolder, silent } from '../fixtures/ipfs-folder.ts'

async function* stream(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

function startNode(dataFolder: string, onLog: (line: string) => void = () => {}) {
  return createTestNode({
    dataFolder,
    onLog,
    folder: import.meta.dirname,
    config: { plugins: { files: true, ipfs: true }, storage: { mounts: { '/': 'ipfs' } } },
  })
}

t.test('what an index lost comes to the owner as /recovered, and devices are told of it', async (t) => {
  const dataFolder = await newFolder()
  t.teardown(() => removeFolder(dataFolder))
  let node = await startNode(dataFolder)
  t.teardown(() => node.stop())
  const before = await node.signIn('owner')
  await before.fetch('/write?path=/kept', { method: 'PUT', body: 'kept' })
  const cursor = async (user: typeof before) => {
    const answer = await user.fetch('/api/files/changes')
    return ((await answer.json()) as { cursor: string }).cursor
  }
  const since = await cursor(before)
  await node.stop()

  // As the index is after it was made again from the packs.
  const own = join(dataFolder, 'plugins', 'ipfs', 'not-in-backups')
  mkdirSync(own, { recursive: true })
  const packs = join(own, 'packs')
  const store = new LazyStore(packs, () => join(own, 'index.sqlite'), silent)
  const backend = createIpfsBackend(store, packs)
  await backend.write('/recovered/bafy-file', stream('a file'))
  await backend.write('/recovered/bafy-folder/inner/a', stream('in a folder'))
  await backend.makeDirectory('/recovered/bafy-folder/empty')
  await backend.close()
  await store.close()

  const log: string[] = []
  node = await startNode(dataFolder, (line) => log.push(line))
  const user = await node.signIn('owner')
  const read = async (path: string) => (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
  while (!log.some((line) => line.includes('/recovered'))) await user.fetch('/stat?path=/')
  t.equal(await read('/recovered/bafy-file'), 'a file')
  t.equal(await read('/recovered/bafy-folder/inner/a'), 'in a folder')
  t.equal((await user.fetch('/stat?path=/recovered/bafy-folder/empty')).status, 200)
  t.equal(await read('/kept'), 'kept')
  const answer = await user.fetch(`/api/files/changes?after=${encodeURIComponent(since)}`)
  t.match(await answer.text(), /bafy-file/)
})

t.test(
  'after a crash without an index, the content of new files comes to the owner under its CIDs',
  async (t) => {
    const [folder, dataFolder] = [await newFolder(), await newFolder()]
    t.teardown(() => Promise.all([folder, dataFolder].map(removeFolder)))
    const { backend } = openBackend(folder)
    await backend.write('/user/small', stream('hello world'))
    await backend.write('/user/large', stream('block'.repeat(500_000)))
    const packs = join(dataFolder, 'plugins', 'ipfs', 'not-in-backups', 'packs')
    cpSync(join(folder, 'packs'), packs, { recursive: true })
    await backend.close()

    // Without an owner, they wait.
    let node = await startNode(dataFolder)
    t.teardown(() => node.stop())
    await node.signIn('owner')
    await node.stop()
    const log: string[] = []
    node = await startNode(dataFolder, (line) => log.push(line))
    const user = await node.signIn('owner')
    while (!log.some((line) => line.includes('/recovered of the owner'))) await user.fetch('/stat?path=/')
    const entries = (await (await user.fetch('/readdir?path=/recovered')).json()) as { name: string }[]
    const contents = await Promise.all(
      entries.map(async ({ name }) => (await user.fetch(`/read?path=/recovered/${name}`)).text()),
    )
    t.strictSame(contents.sort(), ['block'.repeat(500_000), 'hello world'])
    // The CID of "hello world" in every IPFS program.
    t.ok(entries.some(({ name }) => name === 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e'))
  },
)

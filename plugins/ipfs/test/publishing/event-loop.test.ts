import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { FileListEntry, UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { importTree } from '../../src/publishing/import-tree.ts'
import { Publications, type PublishedBlock } from '../../src/publishing/publications.ts'

/** Returns the longest time of the processor, in milliseconds, for which some work let nothing else run. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let isRunning = true
  let longest = 0
  let before = process.threadCpuUsage()
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    before = process.threadCpuUsage()
    if (isRunning) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isRunning = false
  turn()
  return longest
}

t.test('a large folder is made into blocks in small steps', async (t) => {
  const entries = Array.from({ length: 20_000 }, (_, index) => ({
    name: `file number ${index}`,
    path: `/file number ${index}`,
    type: 'file',
  }))
  const content = Buffer.from('the same')
  const files = {
    stat: async () => ({ type: 'directory' }),
    async *list() {
      yield* entries as unknown as FileListEntry[]
    },
    async read(path: string) {
      const name = path.slice(1)
      // The storage answers in a turn of its own.
      await new Promise((resolve) => setImmediate(resolve))
      return { entry: { name, revision: '' }, content: [content] }
    },
  }
  const turn = await longestTurn(() =>
    importTree('/', {
      files: files as unknown as UserFiles,
      session: { put: () => new Promise((resolve) => setImmediate(resolve)) } as never,
      signal: new AbortController().signal,
      onBlock() {},
      onBytes() {},
      maxEntries: 100_000,
      maxDepth: 1,
      maxBytes: 10 ** 9,
    }),
  )
  t.ok(turn < 120, `${turn} ms`)
})

t.test('the bytes of large publications are counted in small steps, each block once', async (t) => {
  const dataDir = t.testdir()
  const publications = new Publications(dataDir, (name) => join(dataDir, `${name}.sqlite`))
  t.teardown(() => publications.close())
  const blocks = Array.from({ length: 60_000 }, () => ({ cid: randomBytes(36), length: 10 }))
  const publish = (userUuid: string, path: string, of: readonly PublishedBlock[]) => {
    const draft = publications.begin(userUuid, path)
    publications.addBlocks(draft, of)
    const file = { revision: 'r', unchangedUntil: null, cid: path, size: 0, files: 1 }
    return publications.publish(draft, { userUuid, path, ...file })
  }
  publish('bob', '/b', blocks.slice(0, 10))
  publish('ada', '/one', blocks)
  const other = publish('ada', '/other', blocks.slice(100, 200))
  publications.addBlocks(publications.begin('ada', '/draft'), [{ cid: randomBytes(36), length: 10 }])
  const turn = await longestTurn(async () => t.equal(await publications.bytesOf('ada'), 600_000))
  t.ok(turn < 15, `${turn} ms`)
  publish('ada', '/more', [...blocks.slice(0, 5), { cid: randomBytes(36), length: 7 }])
  t.equal(await publications.bytesOf('ada'), 600_007)
  publications.withdraw('ada', other.id)
  t.equal(await publications.bytesOf('ada'), 600_007, 'another publication has them still')
  t.equal(await publications.bytesOf('bob'), 100)
  t.equal(await publications.bytesOf('eve'), 0)
})

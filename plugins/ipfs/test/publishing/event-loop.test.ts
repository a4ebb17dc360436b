import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { Publications, type PublishedBlock } from '../../src/publishing/publications.ts'

/** Returns how often something else could run during some work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let isRunning = true
  let turns = 0
  const turn = () => {
    turns += 1
    if (isRunning) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isRunning = false
  return turns
}

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
  const turns = await turnsDuring(async () => t.equal(await publications.bytesOf('ada'), 600_000))
  t.ok(turns > 2, `${turns} turns`)
  publish('ada', '/more', [...blocks.slice(0, 5), { cid: randomBytes(36), length: 7 }])
  t.equal(await publications.bytesOf('ada'), 600_007)
  publications.withdraw('ada', other.id)
  t.equal(await publications.bytesOf('ada'), 600_007, 'another publication has them still')
  t.equal(await publications.bytesOf('bob'), 100)
  t.equal(await publications.bytesOf('eve'), 0)
})

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import {
  createPreviewNode,
  fixture,
  photosOf,
  put,
  statusOf,
  untilComplete,
  varied,
} from '../fixtures/preview-node.ts'

t.jobs = 2

function filesIn(node: TestNode, { user }: TestUser): string[] {
  const folder = join(node.dataFolder, 'plugins/previews/not-in-backups/cache', user.uuid)
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.webp'))
}

test('previews are made before anybody asks, of each content once, and the status tells', async (t) => {
  const node = await createPreviewNode()
  t.teardown(() => node.stop())
  const [owner, bob] = [await node.signIn('owner'), await node.signIn()]
  const content = varied(fixture('jpeg.jpg'))
  await put(owner, '/a.jpg', content)
  await put(owner, '/b.jpg', content)
  await put(bob, '/c.jpg', content)
  await put(bob, '/broken.png', fixture('png.png').subarray(0, 200))
  await put(bob, '/text.txt', Buffer.from('none'))
  t.match(await statusOf(bob), { isComplete: false })
  t.match(await untilComplete(bob), { waiting: 0, made: 1, failed: { broken: 1 } })
  const { cacheBytes, cacheLimit, ...status } = await untilComplete(owner)
  t.strictSame(status, { waiting: 0, made: 2, failed: { broken: 1 }, isComplete: true }, 'of the whole node')
  t.ok(cacheBytes > 0 && cacheBytes < cacheLimit)
  t.equal(filesIn(node, owner).length, 2, 'small and medium, once for both files')
  t.equal(filesIn(node, bob).length, 2, 'of the own user')
})

test('a node that starts again goes on, and does nothing twice', async (t) => {
  const dataFolder = t.testdir()
  const lines: string[] = []
  const start = () => createPreviewNode({ dataFolder, onLog: (line) => lines.push(line) })
  let node = await start()
  t.teardown(() => node.stop())
  const broken = 'A file has no preview.'
  const owner = await node.signIn('owner')
  await put(owner, '/a.png', fixture('png.png').subarray(0, 300))
  await put(owner, '/b.png', varied(fixture('png.png')))
  await untilComplete(owner)
  await put(owner, '/c.png', varied(fixture('png.png')))
  await node.stop()
  node = await start()
  const again = await node.signIn('owner')
  t.match(await untilComplete(again), { made: 2, failed: { broken: 1 } })
  t.equal((await photosOf(again)).photos.length, 2)
  t.equal(lines.filter((line) => line.includes(broken)).length, 1, 'a failed content is not tried again')
})

test('without the background, previews are made for those who ask only', async (t) => {
  const node = await createPreviewNode({ config: { previews: { background: false } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a.png', fixture('png.png'))
  t.ok((await ada.fetch('/api/previews?path=/a.png')).ok)
  t.match(await statusOf(ada), { waiting: 0, made: 1, isComplete: false })
})

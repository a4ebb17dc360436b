import { setTimeout as delay } from 'node:timers/promises'
import { definePlugin, StorageBackends, untilAborted } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createShareNode, link, put } from '../fixtures/share-node.ts'

/** Reads of the pictures of guests who leave. They get nothing until the test says so. */
const held = { paths: new Set<string>(), turn: Promise.withResolvers<void>() }
const never = new AbortController().signal

async function* later(content: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  await untilAborted(held.turn.promise, signal)
  yield* content
}

/** The storage `memory` on a disk that does not answer for some files. */
const slowDisk = definePlugin({
  id: 'slow-disk',
  requires: { backends: StorageBackends },
  contributes: { own: StorageBackends },
  setup({ backends, own }) {
    const memory = backends.get('memory')
    if (memory === undefined) throw new Error('There is no storage "memory".')
    const read: typeof memory.read = async (path, options) => {
      const { entry, content } = await memory.read(path, options)
      if (!path.includes('/left-')) return { entry, content }
      held.paths.add(path)
      return { entry, content: later(content, options?.signal ?? never) }
    }
    const get = (_: object, key: keyof typeof memory) => {
      const value = key === 'read' ? read : memory[key]
      return typeof value === 'function' ? value.bind(memory) : value
    }
    own.add('slow', new Proxy(memory, { get } as ProxyHandler<typeof memory>))
  },
})

// A picture of one pixel.
const gif = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')

t.test('guests who leave before their answer hold up nobody', async (t) => {
  const node = await createShareNode({
    plugins: [slowDisk],
    config: {
      plugins: { 'storage-memory': true },
      storage: { mounts: { '/': 'local', '/far': 'slow' } },
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  // More than the node looks at for a user at a time.
  const leaving = Array.from({ length: 6 }, (_, at) => `left-${at}.gif`)
  for (const name of [...leaving, 'stays.gif']) await put(ada, `/far/trip/${name}`, gif)
  const { path } = await link(ada, '/far/trip')
  const leave = new AbortController()
  const left = leaving.map((name) => node.fetch(`${path}/file?path=/${name}`, { signal: leave.signal }))
  const outcomes = Promise.allSettled(left)
  while (held.paths.size < 4) await delay(20)
  const stays = node.fetch(`${path}/file?path=/stays.gif`)
  leave.abort()
  t.ok((await outcomes).every(({ status }) => status === 'rejected'))
  const answer = await stays
  t.equal(answer.status, 200)
  t.ok(Buffer.from(await answer.arrayBuffer()).equals(gif))
  held.turn.resolve()
})

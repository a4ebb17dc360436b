import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestNode } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import { call, createShareNode, link, put, send, shareOf, untilState } from '../fixtures/share-node.ts'

t.jobs = 3

const node = await createShareNode()
t.teardown(() => node.stop())

const move = (source: string, destination: string) => ({ source, destination })
const file = (path: string, below: string) => node.fetch(`${path}/file?path=${encodeURIComponent(below)}`)

test('a link follows its folder, and not the path', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a/x.txt', 'shared')
  const { path, id } = await link(ada, '/a')
  await call(ada, 'POST', '/move', move('/a', '/b'))
  await put(ada, '/a/x.txt', 'secret')
  await put(ada, '/a/y.txt', 'secret')
  t.equal(await (await file(path, '/x.txt')).text(), 'shared')
  t.equal((await file(path, '/y.txt')).status, 404)
  t.match(await shareOf(ada, id), { path: '/b', name: 'b', state: 'open' })
})

test('a shared file stays shared when it is overwritten', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/x.txt', 'one')
  const { path } = await link(ada, '/x.txt')
  await put(ada, '/x.txt', 'two')
  t.equal(await (await file(path, '')).text(), 'two')
})

test('a link ends with a deletion, and works again when its maker says so', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a/x.txt', 'shared')
  const { path, id } = await link(ada, '/a')
  await call(ada, 'POST', '/delete', { path: '/a' })
  await untilState(ada, id, 'gone')
  t.equal((await node.fetch(path)).status, 404)
  t.equal((await send(ada, 'PATCH', `/api/shares/${id}`, { reopen: true })).status, 409)

  const { items } = (await (await ada.fetch('/api/files/trash')).json()) as { items: { id: string }[] }
  await call(ada, 'POST', '/api/files/trash/restore', { id: items[0]?.id })
  await untilState(ada, id, 'back')
  t.equal((await node.fetch(path)).status, 404, 'nobody was asked yet')
  await call(ada, 'PATCH', `/api/shares/${id}`, { reopen: true })
  t.equal((await node.fetch(path)).status, 200)
})

/** Begins a download whose client takes nothing more than its begin. */
async function stalledDownload(node: TestNode, path: string) {
  const socket = connect(Number(node.url.port), node.url.hostname)
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(`GET ${path}/file?path=/large HTTP/1.1\r\nhost: ${node.url.host}\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

test('running downloads end with their link', async (t) => {
  const ada = await node.signIn()
  // More than the system takes from a node whose client does not read.
  await put(ada, '/big/large', Buffer.alloc(48 * 1024 * 1024))
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    'a revocation': (id) => ada.fetch(`/api/shares/${id}`, { method: 'DELETE' }),
    'a new address': (id) => send(ada, 'PATCH', `/api/shares/${id}`, { newAddress: true }),
    'pictures without places': (id) => send(ada, 'PATCH', `/api/shares/${id}`, { keepMetadata: false }),
    'an earlier end': (id) =>
      send(ada, 'PATCH', `/api/shares/${id}`, { expires: new Date(Date.now() + 60_000).toISOString() }),
    'a deletion': () => call(ada, 'POST', '/delete', { path: '/big' }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const { path, id } = await link(ada, '/big', { keepMetadata: true })
    const socket = await stalledDownload(node, path)
    await end(id)
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    await once(socket, 'close')
    t.ok(bytes < 48 * 1024 * 1024, `${name} ends it after ${bytes} bytes`)
  }
})

test('a folder that moves all the time shows nothing of the one that takes its place', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/here/x.txt', 'shared')
  await put(ada, '/other/x.txt', 'secret')
  const { path } = await link(ada, '/here')
  let isMoving = true
  const moving = (async () => {
    while (isMoving) {
      await call(ada, 'POST', '/move', move('/here', '/away'))
      await call(ada, 'POST', '/move', move('/other', '/here'))
      await call(ada, 'POST', '/move', move('/here', '/other'))
      await call(ada, 'POST', '/move', move('/away', '/here'))
    }
  })()
  const seen = new Set<string>()
  for (let round = 0; round < 60; round += 1) {
    const answer = await file(path, '/x.txt')
    seen.add(answer.ok ? await answer.text() : String(answer.status))
    if (!answer.ok) await answer.body?.cancel()
    const listed = await (await node.fetch(path)).text()
    t.notMatch(listed, 'secret')
  }
  isMoving = false
  await moving
  for (const one of seen) t.ok(['shared', '503', '404'].includes(one), one)
  t.equal(await (await file(path, '/x.txt')).text(), 'shared')
})

import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { Type } from 'typebox'
import type { LocalContent } from '../../../src/client/ports.ts'
import { NodeRemote } from '../../../src/client/remote/node-remote.ts'
import { NodeRequests } from '../../../src/client/remote/node-requests.ts'
import { fileOf, type HostileNode, reset, say, startHostileNode, welcome } from '../fixtures/hostile-node.ts'

const unavailable = { name: 'SyncFailure', kind: 'unavailable' }

t.test('an answer without end is not read to its end', async (t) => {
  const node = await startHostileNode(t)
  const remote = remoteOf(node)
  let sent = 0
  node.on('/api/files/list', (_request, answer) => {
    answer.write('{"entries":[],"cursor":"')
    pour(answer, (bytes) => {
      sent += bytes
    })
  })
  await t.rejects(remote.list('/'), unavailable)
  t.ok(sent < 64 * 2 ** 20, `${sent} bytes were sent`)
  for (const path of ['/delete', '/mkdir', '/write']) {
    node.on(path, (_request, answer) => pour(answer))
  }
  await t.rejects(remote.makeFolder('/a'), unavailable)
  await t.rejects(remote.remove('/a', 'r'), unavailable)
  await t.rejects(remote.write('/a', contentOf('x'), null), unavailable)
  node.on('/mkdir', (_request, answer) => {
    answer.statusCode = 500
    pour(answer)
  })
  await t.rejects(remote.makeFolder('/a'), { ...unavailable, message: 'The node answered 500.' })
  node.on('/mkdir', (_request, answer) => {
    answer.statusCode = 400
    answer.end(JSON.stringify({ message: 'a'.repeat(10_000) }))
  })
  await t.rejects(remote.makeFolder('/a'), { kind: 'refused', message: /^a{500}$/ })
})

t.test('an answer that is none of a node is a failure, and no fault of the client', async (t) => {
  const node = await startHostileNode(t)
  const remote = remoteOf(node)
  const bad = [[], 1, null, 'a', {}, { entries: {}, cursor: null }, { entries: [null], cursor: null }]
  const entries = [
    fileOf('a', { size: -1 }),
    fileOf('a', { size: 2 ** 60 }),
    fileOf('a', { revision: undefined }),
    fileOf('a', { revision: 'r'.repeat(201) }),
    fileOf('a', { modified: 'never' }),
    fileOf('a', { type: 'symlink' }),
    fileOf('a/b'),
    fileOf(''),
    fileOf('a'.repeat(256)),
  ]
  for (const answer of [...bad, ...entries.map((entry) => ({ entries: [entry], cursor: null }))]) {
    node.on('/api/files/list', (_request, outgoing) => outgoing.end(JSON.stringify(answer)))
    await t.rejects(remote.list('/'), unavailable, JSON.stringify(answer).slice(0, 100))
  }
  node.on('/api/sync/hashes', { hashes: [{ path: '/a', revision: 'r', sha256: 'x'.repeat(64) }] })
  await t.rejects(remote.hash('/a', 'r'), unavailable)
  node.on('/move', {})
  await t.rejects(remote.move('/a', '/b', 'r'), unavailable, 'without the revision')
  node.on('/write', {})
  await t.rejects(remote.write('/a', contentOf('x'), null), unavailable, 'without the revision')
})

t.test('a listing whose cursor leads to nothing new ends', async (t) => {
  const node = await startHostileNode(t)
  node.on('/api/files/list', { entries: [fileOf('a')], cursor: 'again' })
  await t.rejects(remoteOf(node).list('/'), { ...unavailable, message: /without end/ })
  t.equal(node.requests.length, 2)
  node.on('/api/files/list', {
    entries: Array.from({ length: 5001 }, (_, n) => fileOf(`${n}`)),
    cursor: null,
  })
  await t.rejects(remoteOf(node).list('/'), unavailable, 'a page has more than was asked for')
})

t.test('a download has the announced size, also by blocks', async (t) => {
  const node = await startHostileNode(t)
  const remote = remoteOf(node)
  const read = async (size: number, former: LocalContent | null = null) => {
    let bytes = 0
    const file = { type: 'file', size, modified: 0, revision: 'r' } as const
    for await (const chunk of remote.read('/a', file, former)) bytes += chunk.length
    return bytes
  }
  node.on('/read', (_request, answer) => pour(answer))
  await t.rejects(read(1_000_000), { ...unavailable, message: /too many bytes/ })
  await t.rejects(read(0), { ...unavailable, message: /too many bytes/ })
  node.on('/read', (_request, answer) => answer.end())
  t.equal(await read(0), 0)
  node.on('/read', (_request, answer) => answer.end('few'))
  await t.rejects(read(1_000_000), { ...unavailable, message: /too few bytes/ })

  const former = contentOf('f'.repeat(5_000_000))
  const [block] = [
    { sha256: createHash('sha256').update('f'.repeat(1_048_576)).digest('hex'), size: 1_048_576 },
  ]
  for (const blocks of [
    Array.from({ length: 30_000 }, () => block),
    [
      { ...block, size: -1 },
      { ...block, size: 6_000_001 },
    ],
    Array.from({ length: 40_000 }, () => ({ ...block, size: 150 })),
  ]) {
    node.on('/api/sync/blocks', { sha256: block.sha256, size: 6_000_000, blocks })
    await t.rejects(read(6_000_000, former), unavailable)
  }
})

t.test('a block is sent once, however often the node asks for it', async (t) => {
  const node = await startHostileNode(t)
  const content = contentOf('f'.repeat(5_000_000))
  const time = '2026-11-23T14:05:12.000Z'
  const upload = { id: 'id', path: '/a', size: content.size, sha256: content.sha256, expires: time }
  node.on('/api/sync/uploads', { ...upload, missing: Array.from({ length: 10_000 }, () => 0) })
  await t.rejects(remoteOf(node).write('/a', content, null))
  const blocks = node.requests.filter((path) => path.includes('/blocks/'))
  t.equal(blocks.length, 1)
  node.on('/api/sync/uploads', { ...upload, missing: [1_000_000] })
  await t.rejects(remoteOf(node).write('/a', content, null), { name: 'SyncFailure', kind: 'refused' })
})

t.test('a download that brings next to nothing for a minute is given up', async (t) => {
  const node = await startHostileNode(t)
  let now = 0
  node.on('/read', (_request, answer) => {
    // Each byte takes the node half a minute, by the clock of the client.
    const drip = () => {
      now += 30_000
      if (!answer.destroyed) answer.write('x', (error) => error || setImmediate(drip))
    }
    drip()
  })
  const remote = new NodeRemote({ url: node.url, token: 'token', deviceName: 'laptop' }, undefined, () => now)
  const file = { type: 'file', size: 100_000, modified: 0, revision: 'r' } as const
  await t.rejects(Array.fromAsync(remote.read('/a', file, null)), { ...unavailable, message: /too slowly/ })
  t.equal(node.requests.length, 4)
})

t.test('a redirect leads nowhere with the token', async (t) => {
  const node = await startHostileNode(t)
  const seen: unknown[] = []
  const elsewhere = createServer(({ headers }, answer) => {
    seen.push(headers)
    answer.end('{"entries":[],"cursor":null}')
  })
  await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve))
  t.teardown(() => elsewhere.close())
  const location = `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}/`
  for (const path of ['/api/files/list', '/api/sync/devices']) {
    node.on(path, (_request, answer) => void answer.writeHead(307, { location }).end())
  }
  await t.rejects(remoteOf(node).list('/'), { ...unavailable, message: /leads to another address/ })
  t.same(seen, [])
})

t.test('a node that is silent, or that changes the protocol, holds up no request', async (t) => {
  const node = await startHostileNode(t)
  const requests = new NodeRequests({ url: node.url, token: 'token', deviceName: 'laptop' }, 50)
  node.on('/stat', () => {})
  await t.rejects(requests.open('/stat'), unavailable)
  node.on('/stat', (_request, answer) => answer.write('{'))
  await t.rejects(requests.ask('/stat', Type.Object({})), unavailable)
  node.on('/stat', (_request, answer) =>
    answer.writeHead(101, { connection: 'upgrade', upgrade: 'any' }).end(),
  )
  await t.rejects(requests.open('/stat'), unavailable)
})

t.test('a connection is kept for the next request, but not for long', async (t) => {
  const node = await startHostileNode(t)
  const requests = new NodeRequests({ url: node.url, token: 'token', deviceName: 'laptop' }, 5000, 200)
  t.teardown(() => requests.stop())
  const sockets = new Set<Socket>()
  node.on('/stat', ({ socket }, answer) => {
    sockets.add(socket)
    // A request may take longer than a connection waits for one.
    setTimeout(() => answer.end('{}'), 300)
  })
  await requests.send('/stat')
  await requests.send('/stat')
  const [socket, ...others] = sockets
  t.same(others, [])
  // The node itself would end it after 5 s.
  for (let ms = 0; ms < 2000 && !socket?.closed; ms += 20) await delay(20)
  t.ok(socket?.closed)
})

t.test('after a stop, requests fail', async (t) => {
  const node = await startHostileNode(t)
  const remote = remoteOf(node)
  node.on('/stat', () => remote.stop())
  await t.rejects(remote.stat('/a'), unavailable)
  await t.rejects(remote.list('/'), unavailable)
  t.equal(node.requests.length, 1)
})

t.test('a connection takes one welcome, one reset, and changes one message at a time', async (t) => {
  const changes = { type: 'changes', cursor: 1, changes: [], head: 9 }
  const floods = [
    [welcome, welcome],
    [welcome, reset, reset],
    [welcome, reset, changes, changes],
    [welcome, reset, ...Array.from({ length: 1000 }, () => ({ type: 'pong' }))],
    [welcome, { type: 'changes', cursor: 'a' }],
    [welcome, { type: 'waiting', mount: 'm'.repeat(2 ** 20), since: null }],
  ]
  for (const flood of floods) {
    const node = await startHostileNode(t)
    const seen: string[] = []
    node.onHello((socket) => say(socket, ...flood))
    const { signal } = new AbortController()
    const following = remoteOf(node).follow({}, ({ type }) => void seen.push(type), signal)
    await t.rejects(following, unavailable, JSON.stringify(flood).slice(0, 100))
    t.ok(seen.length < flood.length, 'the last message is not taken')
  }
})

function remoteOf({ url }: HostileNode): NodeRemote {
  return new NodeRemote({ url, token: 'token', deviceName: 'laptop' })
}

/** Answers without end, as fast as the client reads. */
function pour(answer: ServerResponse, onSent: (bytes: number) => void = () => {}): void {
  const chunk = Buffer.alloc(64 * 1024, 'a')
  const more = (error?: Error | null) => {
    if (error || answer.destroyed) return
    onSent(chunk.length)
    answer.write(chunk, (failure) => setImmediate(more, failure))
  }
  more()
}

function contentOf(text: string): LocalContent {
  const bytes = Buffer.from(text)
  return {
    size: bytes.length,
    modified: 1_700_000_000_000,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    async *read(start = 0, end = bytes.length) {
      yield bytes.subarray(start, end)
    },
    close: async () => {},
  }
}

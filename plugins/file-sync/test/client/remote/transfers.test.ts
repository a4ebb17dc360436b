import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { truncate, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestNode } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import type { LocalContent } from '../../../src/client/ports.ts'
import { NodeRemote } from '../../../src/client/remote/node-remote.ts'
import { createSyncNode, put } from '../../fixtures/sync-node.ts'
import { syncFolder, temporaryFolder } from '../fixtures/synced-folders.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

t.test('a download that is cut off goes on where it was', async (t) => {
  const user = await node.signIn()
  const bytes = randomBytes(3_000_000)
  await put(user, '/large', bytes)
  const network = await createNetwork(t, () => node)
  const remote = new NodeRemote({ url: network.url, token: user.token, deviceName: 'laptop' })
  const entry = await remote.stat('/large')
  if (entry?.type !== 'file') throw new Error('The file is not there.')
  network.cutAnswersAfter(1_000_000, 2)
  const chunks = await Array.fromAsync(remote.read('/large', entry, null))
  t.ok(Buffer.concat(chunks).equals(bytes))
  const reads = network.seen.filter(({ path }) => path.startsWith('/read'))
  t.equal(reads.length, 3)
  t.strictSame(reads[0]?.range, undefined)
  t.match(reads[1]?.range, /^bytes=[1-9]\d*-2999999$/)
  const sent = reads.reduce((sum, read) => sum + read.answered, 0)
  t.equal(sent, bytes.length, 'no byte comes twice')
})

t.test('a file that is larger than the node takes is not read', async (t) => {
  const node = await createSyncNode({ config: { storage: { maxFileSize: 2_000_000 } } })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const folder = await temporaryFolder(t)
  // To read this would take hours.
  await writeFile(join(folder, 'huge'), '')
  await truncate(join(folder, 'huge'), 2 ** 40)
  await writeFile(join(folder, 'large'), randomBytes(2_000_000))
  const sync = await syncFolder(t, node, user, { folder })
  await sync.idle()
  t.match(sync.status().problems, new Map([['/huge', /takes files of at most 2000000 bytes/]]))
  t.equal((await user.fetch('/stat?path=/large')).status, 200)
  await sync.stop()
  // The state knows the listing of the node already.
  const again = await syncFolder(t, node, user, { folder })
  await again.idle()
  t.match(again.status().problems, new Map([['/huge', /takes files of at most 2000000 bytes/]]))
})

t.test('an upload that is cut off goes on after a restart of the client and of the node', async (t) => {
  const dataFolder = await temporaryFolder(t)
  let node = await createSyncNode({ dataFolder })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const bytes = randomBytes(9_000_000)
  const network = await createNetwork(t, () => node)
  const remote = () => new NodeRemote({ url: network.url, token: user.token, deviceName: 'laptop' })
  const isBlock = ({ path }: Request) => path.includes('/blocks/')
  network.refuseAfter(isBlock, 10)
  await t.rejects(remote().write('/large', contentOf(bytes), null), {
    kind: 'unavailable',
    message: /does not answer/,
  })
  const first = network.seen.filter(isBlock)
  network.refuseAfter(isBlock, Number.POSITIVE_INFINITY)
  await node.stop()
  node = await createSyncNode({ dataFolder })
  network.seen.length = 0
  const { size } = await remote().write('/large', contentOf(bytes), null)
  t.equal(size, bytes.length)
  const second = network.seen.filter(isBlock)
  t.equal(first.length, 11, 'ten blocks arrived, and one did not')
  t.strictSame(
    second.filter(({ path }) => first.slice(0, 10).some((each) => hashOf(each) === hashOf({ path }))),
    [],
    'no block is sent twice',
  )
  const answer = await node.fetch('/read?path=/large', { headers: { authorization: `Bearer ${user.token}` } })
  t.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes))
})

t.test(
  'the revision of a moved file is the one of the move, also if somebody replaces the file at once',
  async (t) => {
    const node = await createSyncNode()
    t.teardown(() => node.stop())
    const user = await node.signIn()
    const revision = await put(user, '/a', 'moved')
    const network = await createNetwork(t, () => node)
    network.beforeAnswer(async (path) => {
      if (path === '/move') await put(user, '/b', 'of somebody else')
    })
    const remote = new NodeRemote({ url: network.url, token: user.token, deviceName: 'laptop' })
    t.equal(await remote.move('/a', '/b', revision), revision)
    t.equal(await (await user.fetch('/read?path=/b')).text(), 'of somebody else')
  },
)

t.test('files of every size are uploaded, whatever their time', async (t) => {
  const user = await node.signIn()
  const remote = new NodeRemote({ url: node.url, token: user.token, deviceName: 'laptop' })
  for (const size of [1, 5_000_000]) {
    for (const modified of [-1000, 1e18]) {
      const path = `/${size} ${modified}`
      const written = await remote.write(path, { ...contentOf(Buffer.alloc(size)), modified }, null)
      t.match(await remote.stat(path), { type: 'file', size, revision: written.revision })
    }
  }
})

t.test('an entry of a node with an impossible size or time is refused', async (t) => {
  const good = { name: 'file', type: 'file', size: 1, revision: 'a', modified: '2026-11-23T14:05:12.000Z' }
  let entry: object = good
  const server = createServer((_incoming, outgoing) => {
    outgoing.setHeader('etag', '"a"')
    outgoing.end(JSON.stringify(entry))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const remote = new NodeRemote({ url, token: 'token', deviceName: 'laptop' })
  t.match(await remote.stat('/file'), { type: 'file', size: 1 })
  const bad = [{ size: -1 }, { size: 1e300 }, { size: 0.5 }, { size: null }, { modified: 'never' }]
  for (const wrong of bad) {
    entry = { ...good, ...wrong }
    await t.rejects(remote.stat('/file'), { name: 'SyncFailure' }, JSON.stringify(wrong))
  }
})

interface Request {
  readonly path: string
  readonly range: string | undefined
  /** Bytes of the answer that the client got. */
  answered: number
}

/** A network between a client and a node that may fail. It records the requests. */
async function createNetwork(t: Test, node: () => TestNode) {
  const seen: Request[] = []
  let cuts = { bytes: Number.POSITIVE_INFINITY, times: 0 }
  let answering = async (_path: string) => {}
  let refused = { is: (_request: Request) => false, left: 0 }
  const server = createServer((incoming, outgoing) => {
    const { url: path = '', method, headers } = incoming
    const record: Request = { path, range: headers.range, answered: 0 }
    seen.push(record)
    if (refused.is(record)) {
      refused.left -= 1
      if (refused.left < 0) return void incoming.socket.destroy()
    }
    const { hostname, port } = node().url
    const forwarded = request({ hostname, port, path, method, headers }, async (answer) => {
      await answering(path)
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('data', (chunk: Buffer) => {
        const isCut =
          path.startsWith('/read') && cuts.times > 0 && record.answered + chunk.length > cuts.bytes
        const part = isCut ? chunk.subarray(0, cuts.bytes - record.answered) : chunk
        record.answered += part.length
        if (!isCut) return void outgoing.write(part)
        cuts = { ...cuts, times: cuts.times - 1 }
        answer.destroy()
        // Everything before the cut arrives.
        outgoing.write(part, () => incoming.socket.end())
      })
      answer.on('end', () => outgoing.end())
    })
    forwarded.on('error', () => incoming.socket.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    seen,
    /** Cuts some downloads off after a number of bytes. */
    cutAnswersAfter(bytes: number, times: number) {
      cuts = { bytes, times }
    },
    /** Does something before the answer to a request goes on its way. */
    beforeAnswer(work: (path: string) => Promise<void>) {
      answering = work
    },
    /** Cuts off all requests of a kind but the first ones. */
    refuseAfter(is: (request: Request) => boolean, count: number) {
      refused = { is, left: count }
    },
  }
}

function hashOf({ path }: Pick<Request, 'path'>): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function contentOf(bytes: Buffer): LocalContent {
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

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readlink, rename, truncate, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { definePlugin, Type } from '@nodekeep/plugin-sdk'
import { unpackArchive } from '@nodekeep/plugin-sdk/archive'
import { sendOwnFile } from '@nodekeep/plugin-sdk/send-own-file'
import { type Test, test } from 'tap'
import { createTestNode } from '../../src/testing/index.ts'

/** A plugin that gives out archives and unpacks them, as backups do. */
function shelf(folder: string) {
  const params = Type.Object({ name: Type.String({ pattern: '^[a-z.]+$' }) })
  return definePlugin({
    id: 'shelf',
    setup({ routes, dataDir }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'It is a test.' } as const
        app.get('/shelf/:name', { schema: { params }, config }, (request, reply) => {
          const { name } = request.params
          return sendOwnFile(request, reply, join(folder, name), { saveAs: `Shelf “${name}”` })
        })
        app.get('/page', { config }, (request, reply) =>
          sendOwnFile(request, reply, join(folder, 'page.html'), {
            cacheControl: 'public, max-age=60',
            type: 'text/x',
          }),
        )
        app.post('/shelf/:name/unpack', { schema: { params }, config }, async (request) => {
          const into = join(dataDir, 'unpacked')
          await mkdir(into, { recursive: true })
          await unpackArchive(join(folder, request.params.name), into, { maxBytes: 1_000_000 })
          return { names: await readdir(into) }
        })
      })
    },
  })
}

const content = Array.from({ length: 5000 }, (_, index) => `${index}`).join(' ')

async function shelfNode(t: Test) {
  const folder = t.testdir({ 'file.txt': content, empty: '', folder: {}, 'page.html': '<p>' })
  const node = await createTestNode({ plugins: [shelf(folder)] })
  t.teardown(() => node.stop())
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    node.fetch(path, { headers, method })
  return { folder, node, get }
}

test('a file is sent whole, in ranges, and only if it changed', async (t) => {
  const { get, folder } = await shelfNode(t)
  const whole = await get('/shelf/file.txt')
  t.equal(whole.status, 200)
  t.match(Object.fromEntries(whole.headers), {
    'content-length': String(content.length),
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename="Shelf ?file.txt?"; filename*=UTF-8''Shelf%20%E2%80%9Cfile.txt%E2%80%9D`,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'last-modified': / GMT$/,
  })
  t.equal(await whole.text(), content)
  const etag = whole.headers.get('etag') ?? ''
  t.ok(etag)

  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=100-199', 100, 200],
    ['bytes=23000-', 23000, content.length],
    ['bytes=-7', content.length - 7, content.length],
    ['bytes=10-999999', 10, content.length],
  ] as const) {
    const part = await get('/shelf/file.txt', { range })
    t.equal(part.status, 206, range)
    t.equal(part.headers.get('content-range'), `bytes ${from}-${to - 1}/${content.length}`)
    t.equal(await part.text(), content.slice(from, to))
  }
  t.equal((await get('/shelf/file.txt', { range: 'bytes=5-9', 'if-range': etag })).status, 206)
  t.equal((await get('/shelf/file.txt', { range: 'bytes=5-9', 'if-range': '"another"' })).status, 200)
  t.equal((await get('/shelf/file.txt', { range: 'lines=5-9' })).status, 200)

  const unchanged = await get('/shelf/file.txt', { 'if-none-match': etag })
  t.equal(unchanged.status, 304)
  t.equal(await unchanged.text(), '')
  await utimes(join(folder, 'file.txt'), 1, 1)
  t.equal((await get('/shelf/file.txt', { 'if-none-match': etag })).status, 200)
  t.equal((await get('/shelf/file.txt', { 'if-modified-since': new Date(1000).toUTCString() })).status, 304)

  const head = await get('/shelf/file.txt', { range: 'bytes=0-4' }, 'HEAD')
  t.equal(head.status, 200, 'a HEAD has no range')
  t.equal(head.headers.get('content-length'), String(content.length))
  const empty = await get('/shelf/empty')
  t.equal(empty.status, 200)
  t.equal(await empty.text(), '')
  const page = await get('/page')
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/x',
    'cache-control': 'public, max-age=60',
  })
  t.equal(page.headers.get('content-disposition'), null)
})

test('errors have the form of all errors', async (t) => {
  const { get } = await shelfNode(t)
  for (const [path, headers, status, code] of [
    ['/shelf/none', {}, 404, 'NOT_FOUND'],
    ['/shelf/folder', {}, 404, 'NOT_FOUND'],
    ['/shelf/..', {}, 404, 'NOT_FOUND'],
    ['/shelf/file.txt', { 'if-match': '"another"' }, 412, 'PRECONDITION_FAILED'],
    ['/shelf/file.txt', { range: 'bytes=999999-' }, 416, 'RANGE_NOT_SATISFIABLE'],
  ] as const) {
    const answer = await get(path, headers)
    t.equal(answer.status, status, path)
    const body = (await answer.json()) as object
    t.match(body, { error: true, code })
    t.strictSame(Object.keys(body).sort(), ['code', 'error', 'message'])
    t.equal(answer.headers.get('etag'), null)
    if (status === 416) t.equal(answer.headers.get('content-range'), `bytes */${content.length}`)
  }
})

/** Requests a file over a connection that reads nothing until it is told to. */
async function slowReader(url: URL, path: string) {
  const socket = connect(Number(url.port), url.hostname)
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

test('a file that is replaced while it is sent arrives as it was', async (t) => {
  const { folder, node } = await shelfNode(t)
  const size = 30_000_000
  await writeFile(join(folder, 'large'), Buffer.alloc(size, 'a'))
  const socket = await slowReader(node.url, '/shelf/large')
  await writeFile(join(folder, 'new'), Buffer.alloc(size, 'b'))
  await rename(join(folder, 'new'), join(folder, 'large'))
  const received = Buffer.concat(await socket.toArray())
  t.equal(received.length - received.indexOf('\r\n\r\n') - 4, size)
  t.notOk(received.subarray(received.indexOf('\r\n\r\n')).includes('b'))
})

test('a file that is cut short while it is sent breaks the answer off', async (t) => {
  const { folder, node } = await shelfNode(t)
  await writeFile(join(folder, 'large'), Buffer.alloc(30_000_000, 'a'))
  const socket = await slowReader(node.url, '/shelf/large')
  await truncate(join(folder, 'large'), 20_000_000)
  let bytes = 0
  const ended = once(socket, 'close')
  socket.on('error', () => {})
  socket.on('data', (chunk) => (bytes += chunk.length))
  await ended
  t.ok(bytes < 30_000_000, `${bytes} bytes`)
})

/** How many descriptors of this process refer to a file. */
async function descriptorsOf(file: string): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter((target) => target === file).length
}

test('a client that leaves closes the file', { skip: process.platform !== 'linux' }, async (t) => {
  const { folder, node } = await shelfNode(t)
  const file = join(folder, 'large')
  await writeFile(file, Buffer.alloc(30_000_000, 'a'))
  const socket = await slowReader(node.url, '/shelf/large')
  t.equal(await descriptorsOf(file), 1)
  socket.destroy()
  while ((await descriptorsOf(file)) > 0) await new Promise((resolve) => setImmediate(resolve))
  t.pass('it is closed')
})

test('a route unpacks an archive, and a hostile one is an error for people', async (t) => {
  const { folder, get } = await shelfNode(t)
  const pack = (...files: string[]) =>
    promisify(execFile)('tar', ['-czPf', ...files], { cwd: join(folder, 'folder') })
  await writeFile(join(folder, 'folder', 'a'), '1')
  await pack('../evil', 'a', '../page.html')
  await pack('../good', 'a')
  const refused = await get('/shelf/evil/unpack', {}, 'POST')
  t.equal(refused.status, 400)
  t.strictSame(await refused.json(), {
    error: true,
    message: 'The archive evil has an entry that leads out of the folder: "../page.html".',
    code: 'VALIDATION_ERROR',
  })
  const answer = await get('/shelf/good/unpack', {}, 'POST')
  t.strictSame(await answer.json(), { names: ['a'] })
})

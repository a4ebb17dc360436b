import { request as httpRequest } from 'node:http'
import t, { test } from 'tap'
import { connectProgram, contentOf, createDavNode, namesIn, programWith } from './fixtures/dav-node.ts'
import { responsesIn } from './fixtures/multistatus.ts'

// Users are apart, so one node is enough for all tests.
const node = await createDavNode({ config: { storage: { maxFileSize: 1024 * 1024 } } })
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())

test('only a token with the scope opens the files, as a password or as Bearer, and never a cookie', async (t) => {
  const ada = await connect()
  t.equal((await ada.ask('OPTIONS', '/')).headers.get('dav'), '1, 2, 3')
  const bearer = { authorization: `Bearer ${ada.token}` }
  t.equal((await node.fetch('/dav/', { method: 'PROPFIND', headers: { ...bearer, depth: '0' } })).status, 207)

  const nobody = await node.fetch('/dav/', { method: 'OPTIONS' })
  t.equal(nobody.status, 401)
  t.equal(nobody.headers.get('www-authenticate'), 'Basic realm="Nodekeep", charset="UTF-8"')
  t.match(nobody.headers.get('content-type'), 'application/xml')
  for (const method of [
    'GET',
    'PUT',
    'DELETE',
    'PROPFIND',
    'PROPPATCH',
    'MKCOL',
    'COPY',
    'MOVE',
    'LOCK',
    'UNLOCK',
  ])
    t.equal((await node.fetch('/dav/a', { method })).status, 401, method)
  t.equal((await node.fetch('/', { method: 'PROPFIND' })).status, 401)
  t.equal((await programWith(node, 'wrong').ask('GET', '/')).status, 401)
  const cookie = { cookie: `session=${ada.user.token}` }
  t.equal((await node.fetch('/dav/', { method: 'OPTIONS', headers: cookie })).status, 401)
  const other = await connectProgram(node, ada.user, ['files:read'])
  t.equal((await other.ask('PROPFIND', '/', { headers: { depth: '0' } })).status, 403)
})

test('a file is stored, read, and deleted into the trash', async (t) => {
  const ada = await connect()
  const stored = await ada.expect(201, 'PUT', '/a.txt', { body: 'one' })
  t.equal(await contentOf(ada, '/a.txt'), 'one')
  const read = await ada.expect(200, 'GET', '/a.txt')
  t.equal(read.text, 'one')
  t.equal(read.headers.get('etag'), stored.headers.get('etag'))
  t.match(read.headers.get('content-type'), 'text/plain')
  t.match(read.headers.get('content-security-policy'), 'sandbox')
  const head = await ada.expect(200, 'HEAD', '/a.txt')
  t.equal(head.headers.get('content-length'), '3')
  t.equal((await ada.expect(206, 'GET', '/a.txt', { headers: { range: 'bytes=1-' } })).text, 'ne')
  await ada.expect(416, 'GET', '/a.txt', { headers: { range: 'bytes=9-' } })
  await ada.expect(204, 'PUT', '/a.txt', { body: 'two' })
  await ada.expect(204, 'DELETE', '/a.txt')
  await ada.expect(404, 'DELETE', '/a.txt')
  await ada.expect(404, 'GET', '/a.txt')
  const trash = (await (await ada.user.fetch('/api/files/trash')).json()) as { items: object[] }
  t.match(trash.items, [{ path: '/a.txt' }])
  const { changes } = (await (await ada.user.fetch('/api/files/changes/newest')).json()) as {
    changes: object[]
  }
  t.match(changes[0], { op: 'delete', maker: { kind: 'token', name: 'program' } })
})

test('conditions are those of all ways', async (t) => {
  const ada = await connect()
  await ada.expect(412, 'PUT', '/a', { headers: { 'if-match': '*' }, body: 'x' })
  const etag =
    (await ada.expect(201, 'PUT', '/a', { headers: { 'if-none-match': '*' }, body: 'x' })).headers.get(
      'etag',
    ) ?? ''
  await ada.expect(412, 'PUT', '/a', { headers: { 'if-none-match': '*' }, body: 'y' })
  await ada.expect(304, 'GET', '/a', { headers: { 'if-none-match': etag } })
  await ada.user.fetch('/write?path=/a', { method: 'PUT', body: 'by another way' })
  await ada.expect(412, 'PUT', '/a', { headers: { 'if-match': etag }, body: 'y' })
  await ada.expect(412, 'DELETE', '/a', { headers: { 'if-match': etag } })
  await ada.expect(412, 'PUT', '/a', { headers: { if: `([${etag}])` }, body: 'y' })
  await ada.expect(412, 'GET', '/a', { headers: { if: `([${etag}])` } })
  await ada.expect(400, 'PUT', '/a', { headers: { if: 'nonsense' }, body: 'y' })
  const now = (await ada.expect(200, 'HEAD', '/a')).headers.get('etag') ?? ''
  await ada.expect(204, 'PUT', '/a', { headers: { if: `</dav/a> (["x"] [${now}]) ([${now}])` }, body: 'y' })
  t.equal(await contentOf(ada, '/a'), 'y')
})

test('a part of a file, compressed bytes, and a file that is too large are refused', async (t) => {
  const ada = await connect()
  await ada.expect(400, 'PUT', '/a', { headers: { 'content-range': 'bytes 0-0/2' }, body: 'x' })
  await ada.expect(415, 'PUT', '/a', { headers: { 'content-encoding': 'gzip' }, body: 'x' })
  await ada.expect(413, 'PUT', '/a', { body: 'x'.repeat(1024 * 1024 + 1) })
  await ada.expect(413, 'PUT', '/a', { headers: { 'x-expected-entity-length': '2000000' }, body: 'x' })
  t.same(await namesIn(ada, '/'), [])
})

test('a file has the time that its program sends, and its checksum is verified', async (t) => {
  const ada = await connect()
  const sha1 = 'SHA1:11f6ad8ec52a2984abaafd7c3b516503785c2072'
  const headers = { 'x-oc-mtime': '981173106', 'oc-checksum': `ADLER32:00790079 ${sha1}` }
  t.equal((await ada.expect(201, 'PUT', '/x', { headers, body: 'x' })).headers.get('x-oc-mtime'), 'accepted')
  t.equal((await ada.expect(200, 'HEAD', '/x')).headers.get('last-modified'), 'Sat, 03 Feb 2001 04:05:06 GMT')
  await ada.expect(400, 'PUT', '/x', { headers: { 'oc-checksum': sha1 }, body: 'y' })
  t.equal(await contentOf(ada, '/x'), 'x')
  await ada.expect(400, 'PUT', '/x', { headers: { 'x-oc-mtime': 'now' }, body: 'x' })
  const sha256 = 'SHA256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'
  await ada.expect(204, 'PUT', '/x', { headers: { 'oc-checksum': sha256 }, body: 'x' })
  t.equal((await ada.expect(200, 'GET', '/x')).headers.get('oc-checksum'), sha256)
})

test('folders are made one by one', async (t) => {
  const ada = await connect()
  await ada.expect(409, 'MKCOL', '/a/b')
  await ada.expect(409, 'PUT', '/a/b', { body: 'x' })
  await ada.expect(409, 'PUT', '/a/', { body: 'x' })
  await ada.expect(415, 'MKCOL', '/a', { body: '<x/>' })
  await ada.expect(201, 'MKCOL', '/a/')
  t.match((await ada.expect(405, 'MKCOL', '/a')).headers.get('allow'), 'PROPFIND')
  await ada.expect(405, 'MKCOL', '/')
  await ada.expect(405, 'PUT', '/a', { body: 'x' })
  await ada.expect(201, 'PUT', '/a/f', { body: 'x' })
  await ada.expect(405, 'MKCOL', '/a/f')
  await ada.expect(409, 'MKCOL', '/a/f/g')
  await ada.expect(409, 'PUT', '/a/f/g', { body: 'x' })
  await ada.expect(404, 'GET', '/a/f/g')
  t.match((await ada.expect(200, 'GET', '/a/')).text, /WebDAV/)
  await ada.expect(400, 'DELETE', '/a', { headers: { depth: '0' } })
  await ada.expect(403, 'DELETE', '/')
  await ada.expect(204, 'DELETE', '/a', { headers: { depth: 'infinity' } })
  t.same(await namesIn(ada, '/'), [])
})

test('of several requests for the same folder, one makes it', async (t) => {
  const ada = await connect()
  const answers = await Promise.all(Array.from({ length: 8 }, () => ada.ask('MKCOL', '/a')))
  t.same(answers.map(({ status }) => status).toSorted(), [201, ...new Array(7).fill(405)])
})

test('odd names come back as they were sent', async (t) => {
  const ada = await connect()
  const names = [
    'ü & 100%',
    'a;b,c=d',
    "it's (1) [2] {3}!",
    '#?+~',
    '漢字 😀',
    '.hidden',
    '...',
    ' spaces ',
    'a\u0001b',
    '<x>"y"',
  ]
  for (const name of names) await ada.expect(201, 'PUT', `/${encodeURIComponent(name)}`, { body: name })
  t.same((await namesIn(ada, '/')).toSorted(), names.toSorted())
  const { text } = await ada.expect(207, 'PROPFIND', '/', { headers: { depth: '1' } })
  const [own, ...entries] = responsesIn(text)
  t.equal(own?.href, '/dav/')
  t.same(
    entries.map(({ href }) => decodeURIComponent(href.slice('/dav/'.length))).toSorted(),
    names.toSorted(),
  )
  for (const { href } of entries)
    t.equal((await ada.expect(200, 'GET', href.slice('/dav'.length))).status, 200)
})

test('an address that names no path, or leads out of the files, is refused', async (t) => {
  const ada = await connect()
  for (const path of ['/a%2Fb', '/%00', '/a%5Cb', '/%ff', `/${'x'.repeat(300)}`])
    t.match((await ada.ask('GET', path)).status, /^(400|404)$/, path)
  // `fetch` would resolve these itself.
  for (const path of ['/dav/../health', '/dav/%2e%2e/health', '/dav/./a', '/dav/a#b'])
    t.match(await statusOf(path, ada.token), /^(400|404)$/, path)
})

function statusOf(path: string, token: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { authorization: `Bearer ${token}` }
  httpRequest({ host: node.url.hostname, port: node.url.port, path, headers }, (answer) => {
    answer.resume()
    resolve(answer.statusCode ?? 0)
  })
    .on('error', reject)
    .end()
  return promise
}

test('nobody reaches the files of another user', async (t) => {
  const [ada, grace] = [await connect(), await connect()]
  await ada.expect(201, 'PUT', '/secret', { body: 'x' })
  await ada.expect(201, 'MKCOL', '/folder')
  await grace.expect(404, 'GET', '/secret')
  await grace.expect(404, 'DELETE', '/folder')
  await grace.expect(404, 'COPY', '/secret', { headers: { destination: '/dav/mine' } })
  const { text } = await grace.expect(207, 'PROPFIND', '/', { headers: { depth: '1' } })
  t.same(
    responsesIn(text).map(({ href }) => href),
    ['/dav/'],
  )
  await grace.expect(201, 'PUT', '/secret', { body: 'y' })
  t.equal(await contentOf(ada, '/secret'), 'x')
})

test('errors are XML with a message for people, and unknown methods are named', async (t) => {
  const ada = await connect()
  const { text, headers } = await ada.expect(404, 'GET', '/missing')
  t.match(headers.get('content-type'), 'application/xml')
  t.match(
    text,
    /<D:error xmlns:D="DAV:".*<s:message>There is nothing at &quot;\/missing&quot;\.<\/s:message>/,
  )
  t.match((await ada.ask('POST', '/missing')).status, 405)
  t.match(
    (await ada.expect(400, 'PROPFIND', '/', { headers: { depth: '0' }, body: '<a' })).text,
    /well-formed/,
  )
  await ada.expect(413, 'PROPFIND', '/', { headers: { depth: '0' }, body: ' '.repeat(70_000) })
})

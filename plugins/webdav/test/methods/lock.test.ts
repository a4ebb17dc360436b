import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { connectProgram, contentOf, createDavNode, namesIn, programWith } from '../fixtures/dav-node.ts'
import { lockInfo, lockPath, tokenOf } from '../fixtures/locking.ts'
import { propertiesIn, propfindOf, responsesIn } from '../fixtures/multistatus.ts'

const dataFolder = t.testdir()
const start = () =>
  createDavNode({ dataFolder, config: { webdav: { locksPerUser: 5, longestLockSeconds: 600 } } })
// Users are apart, so one node is enough for all tests.
let node = await start()
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())
const submit = (...tokens: string[]) => ({ if: tokens.map((token) => `(<${token}>)`).join(' ') })

test('a locked file is changed only with the token of its lock', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'one' })
  const made = await ada.expect(200, 'LOCK', '/a', {
    body: lockInfo('exclusive', '<D:owner><x:me xmlns:x="urn:x">Ada &amp; co</x:me></D:owner>'),
    headers: { timeout: 'Infinite, Second-3600' },
  })
  const token = tokenOf(made)
  t.match(
    made.text,
    /<D:exclusive\/>.*<D:depth>infinity<.*<x:me xmlns:x="urn:x">Ada &amp; co<.*<D:timeout>Second-(600|599)</s,
  )
  t.match(made.text, `<D:href>${token}</D:href>`)
  const locked = await ada.expect(423, 'PUT', '/a', { body: 'two' })
  t.match(locked.text, /<D:lock-token-submitted><D:href>\/dav\/a<\/D:href>/)
  await ada.expect(423, 'DELETE', '/a')
  await ada.expect(423, 'MOVE', '/a', { headers: { destination: '/dav/b' } })
  await ada.expect(423, 'PROPPATCH', '/a', {
    body: '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>',
  })
  await ada.expect(423, 'LOCK', '/a', { body: lockInfo() })
  await ada.expect(423, 'LOCK', '/a', { body: lockInfo('shared'), headers: submit(token) })
  await ada.expect(201, 'PUT', '/c', { body: 'c' })
  await ada.expect(423, 'COPY', '/c', { headers: { destination: '/dav/a' } })
  await ada.expect(201, 'COPY', '/a', { headers: { destination: '/dav/b' } })
  await ada.expect(200, 'GET', '/a')

  await ada.expect(412, 'PUT', '/a', { headers: submit('urn:uuid:other'), body: 'two' })
  await ada.expect(412, 'PUT', '/a', { headers: { if: '(<DAV:no-lock>)' }, body: 'two' })
  await ada.expect(204, 'PUT', '/a', { headers: submit(token), body: 'two' })
  await ada.expect(204, 'PUT', '/a', {
    headers: { if: `(Not <${token}>) (Not <DAV:no-lock>)` },
    body: 'three',
  })
  t.equal(await contentOf(ada, '/a'), 'three')
  await ada.user.fetch('/write?path=/a', { method: 'PUT', body: 'by another way' })
  t.equal(await contentOf(ada, '/a'), 'by another way', 'locks bind programs of WebDAV only')

  await ada.expect(400, 'UNLOCK', '/a')
  await ada.expect(409, 'UNLOCK', '/a', { headers: { 'lock-token': '<urn:uuid:other>' } })
  await ada.expect(409, 'UNLOCK', '/c', { headers: { 'lock-token': `<${token}>` } })
  await ada.expect(204, 'UNLOCK', '/a', { headers: { 'lock-token': `<${token}>` } })
  await ada.expect(204, 'PUT', '/a', { body: 'four' })
})

test('a file that is locked while it arrives is not stored', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'before' })
  const [read, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let pieces = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      pieces += 1
      // More than the system holds on the way: the node has begun to store the file.
      if (pieces <= 32) return controller.enqueue(new Uint8Array(1024 * 1024))
      read.resolve()
      await locked.promise
      controller.close()
    },
  })
  const headers = { authorization: `Bearer ${ada.token}` }
  const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit
  const upload = fetch(new URL('/dav/a', node.url), init)
  await read.promise
  await lockPath(ada, '/a')
  locked.resolve()
  t.equal((await upload).status, 423)
  t.equal(await contentOf(ada, '/a'), 'before')
})

test('a lock on a free path makes an empty file, and keeps the name', async (t) => {
  const ada = await connect()
  const made = await ada.expect(201, 'LOCK', '/new', { body: lockInfo() })
  t.equal(await contentOf(ada, '/new'), '')
  await ada.expect(423, 'PUT', '/new', { body: 'x' })
  await ada.expect(204, 'PUT', '/new', { headers: submit(tokenOf(made)), body: 'x' })
  await ada.expect(409, 'LOCK', '/missing/new', { body: lockInfo() })
})

test('a deep lock of a folder locks what is in it, and what comes into it', async (t) => {
  const ada = await connect()
  for (const folder of ['/f', '/f/g']) await ada.expect(201, 'MKCOL', folder)
  await ada.expect(201, 'PUT', '/f/g/a', { body: 'x' })
  const token = await lockPath(ada, '/f')
  await ada.expect(423, 'PUT', '/f/g/a', { body: 'y' })
  await ada.expect(423, 'PUT', '/f/g/b', { body: 'y' })
  await ada.expect(423, 'MKCOL', '/f/h')
  await ada.expect(423, 'LOCK', '/f/g/a', { body: lockInfo() })
  await ada.expect(423, 'LOCK', '/f/g/new', { body: lockInfo() })
  t.same(await namesIn(ada, '/f/g'), ['a'])
  const body = propfindOf('{DAV:}lockdiscovery')
  const { text } = await ada.expect(207, 'PROPFIND', '/f/g', { headers: { depth: '1' }, body })
  for (const { properties } of responsesIn(text)) t.match(properties[200]?.['{DAV:}lockdiscovery'], token)
  await ada.expect(204, 'PUT', '/f/g/a', {
    headers: { if: `<${node.url.origin}/dav/f/> (<${token}>)` },
    body: 'y',
  })
  await ada.expect(204, 'UNLOCK', '/f/g/a', { headers: { 'lock-token': `<${token}>` } })
  await ada.expect(201, 'PUT', '/f/g/b', { body: 'y' })
})

test('a lock of depth 0 on a folder keeps its entries from coming and going', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'MKCOL', '/f')
  await ada.expect(201, 'PUT', '/f/a', { body: 'x' })
  const token = await lockPath(ada, '/f', { headers: { depth: '0' } })
  await ada.expect(204, 'PUT', '/f/a', { body: 'y' })
  await ada.expect(423, 'PUT', '/f/b', { body: 'y' })
  await ada.expect(423, 'DELETE', '/f/a')
  await ada.expect(423, 'MOVE', '/f/a', { headers: { destination: '/dav/a' } })
  await ada.expect(400, 'LOCK', '/f', { headers: { depth: '1' }, body: lockInfo() })
  await ada.expect(201, 'MOVE', '/f/a', {
    headers: { destination: '/dav/a', if: `</dav/f> (<${token}>)` },
  })
  t.same(await namesIn(ada, '/'), ['a', 'f'])
})

test('locks within a folder are in the way of its lock, its move and its deletion, and end with it', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'MKCOL', '/f')
  const token = await lockPath(ada, '/f/a')
  const { text } = await ada.expect(207, 'LOCK', '/f', { body: lockInfo() })
  t.match(responsesIn(text), [
    { href: '/dav/f/a', status: 423 },
    { href: '/dav/f/', status: 424 },
  ])
  await ada.expect(423, 'DELETE', '/f')
  await ada.expect(423, 'MOVE', '/f', { headers: { destination: '/dav/g' } })
  await ada.expect(201, 'MOVE', '/f', { headers: { destination: '/dav/g', if: `</dav/f/a> (<${token}>)` } })
  await ada.expect(204, 'PUT', '/g/a', { body: 'not locked' })
  await ada.expect(201, 'MKCOL', '/f')
  await ada.expect(201, 'PUT', '/f/a', { body: 'not locked' })
})

test('shared locks go together, and either token will do', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x' })
  const shared = { body: lockInfo('shared') }
  const [one, two] = [await lockPath(ada, '/a', shared), await lockPath(ada, '/a', shared)]
  await ada.expect(423, 'LOCK', '/a', { body: lockInfo() })
  await ada.expect(423, 'PUT', '/a', { body: 'y' })
  for (const token of [one, two]) await ada.expect(204, 'PUT', '/a', { headers: submit(token), body: 'y' })
  t.equal(await contentOf(ada, '/a'), 'y')
})

test('a lock is renewed, and ends when it is not', async (t) => {
  const ada = await connect()
  const token = await lockPath(ada, '/a', { headers: { timeout: 'Second-500' } })
  const renewed = await ada.expect(200, 'LOCK', '/a', {
    headers: { ...submit(token), timeout: 'Second-100' },
  })
  t.match(renewed.text, /Second-(100|99)</)
  t.equal(renewed.headers.get('lock-token'), null)
  await ada.expect(412, 'LOCK', '/a')
  await ada.expect(412, 'LOCK', '/a', { headers: submit('urn:uuid:other') })
  await ada.expect(200, 'LOCK', '/a', { headers: { ...submit(token), timeout: 'Second-1' } })
  let status = 423
  while (status === 423) {
    await delay(20)
    status = (await ada.ask('PUT', '/a', { body: 'x' })).status
  }
  t.equal(status, 204)
})

test('locks outlast a restart of the node', async (t) => {
  const ada = await connect()
  const token = await lockPath(ada, '/a', { headers: { timeout: 'Second-300' } })
  await node.stop()
  node = await start()
  const program = programWith(node, ada.token)
  await program.expect(423, 'PUT', '/a', { body: 'x' })
  const body = propfindOf('{DAV:}lockdiscovery')
  const { text } = await program.expect(207, 'PROPFIND', '/a', { headers: { depth: '0' }, body })
  t.match(propertiesIn(text)['{DAV:}lockdiscovery'], token)
  await program.expect(204, 'PUT', '/a', { headers: submit(token), body: 'x' })
})

test('the locks of a user are bounded, and those of others do not count or bind', async (t) => {
  const [ada, grace] = [await connect(), await connect()]
  for (let n = 0; n < 5; n += 1) await lockPath(ada, `/${n}`)
  await ada.expect(507, 'LOCK', '/more', { body: lockInfo() })
  t.notOk((await namesIn(ada, '/')).includes('more'))
  const token = await lockPath(grace, '/0')
  await grace.expect(412, 'PUT', '/1', { headers: submit(token), body: 'x' })
  await grace.expect(201, 'PUT', '/1', { body: 'x' })
})

test('a request for a lock that says too little or too much is refused', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x' })
  for (const body of [
    '<lockinfo xmlns="DAV:"/>',
    lockInfo().replace('write', 'read'),
    lockInfo().replace('exclusive', 'other'),
    lockInfo().replace('lockinfo', 'propfind').replace('/D:lockinfo', '/D:propfind'),
    lockInfo('exclusive', `<D:owner>${'x'.repeat(5000)}</D:owner>`),
  ])
    await ada.expect(400, 'LOCK', '/a', { body })
  await ada.expect(204, 'PUT', '/a', { body: 'not locked' })
  t.equal(await contentOf(ada, '/a'), 'not locked')
})

import t, { test } from 'tap'
import { largestChanges } from '../../../src/protocol/messages.ts'
import { begin, connect, pathsOf } from '../../fixtures/sync-client.ts'
import { createSyncNode, put, send, withToken } from '../../fixtures/sync-node.ts'
import { sha256 } from '../../fixtures/uploader.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

test('a device gets the changes after its snapshot, one message at a time', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/before', 'x')
  const client = await connect(t, node, ada)
  client.say({ type: 'hello', protocol: 1, name: 'laptop' })
  const welcome = await client.next('welcome')
  const reset = await client.next('reset')
  t.match(welcome, { protocol: 1, device: /^[0-9a-f-]{36}$/, epoch: reset.epoch, head: reset.head })
  t.equal(reset.reason, 'new')

  const revision = await put(ada, '/a', 'four', { 'x-nodekeep-device': 'phone' })
  const first = await client.next('changes')
  t.match(first.changes, [{ op: 'write', path: '/a', size: 4, revision, by: 'phone' }])
  t.ok(first.cursor > reset.head)
  t.equal(first.head, first.cursor)
  const modified = new Date(Date.parse('2001-02-03T04:05:06.000Z'))
  const b = await put(ada, '/b', 'x', { 'x-oc-mtime': String(modified.getTime() / 1000) })
  await put(ada, '/c', 'x')
  await send(ada, 'POST', '/api/sync/hashes', { files: [{ path: '/b', revision: b }] })
  client.say({ type: 'ping' })
  await client.next('pong')
  client.say({ type: 'ack', cursor: first.cursor })
  const second = await client.next('changes')
  t.same(pathsOf(second), ['/b', '/c'], 'they waited for the ack')
  const told = { size: 1, revision: b, modified: modified.toISOString(), hash: sha256('x') }
  t.match(second.changes, [told, { hash: undefined }], 'they tell what is known of files')

  const grace = await node.signIn()
  await put(grace, '/hers', 'x')
  client.say({ type: 'ack', cursor: second.cursor })
  await put(ada, '/d', 'x')
  t.match((await client.next('changes')).changes, [{ path: '/d' }], 'nobody sees the changes of others')
})

test('a device goes on after the changes that it has stored', async (t) => {
  const ada = await node.signIn()
  const first = await connect(t, node, ada)
  const { device, epoch, cursor } = await begin(first)
  first.close()
  await first.closed
  await put(ada, '/meanwhile', 'x')
  const second = await connect(t, node, ada)
  second.say({ type: 'hello', protocol: 1, device, epoch, cursor })
  t.equal((await second.next('welcome')).device, device)
  t.match((await second.next('changes')).changes, [{ path: '/meanwhile' }])
})

test('a cursor that is not valid leads to a reset', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a', 'x')
  const { device, epoch, cursor } = await begin(await connect(t, node, ada))
  const ask = async (position: object) => {
    const client = await connect(t, node, ada)
    client.say({ type: 'hello', protocol: 1, device, ...position })
    await client.next('welcome')
    const reset = await client.next('reset')
    t.equal(reset.head, cursor)
    return reset.reason
  }
  t.equal(await ask({}), 'new')
  t.equal(await ask({ cursor }), 'epoch')
  t.equal(await ask({ cursor, epoch: 'another' }), 'epoch')
  t.equal(
    await ask({ cursor: cursor + 1, epoch }),
    'expired',
    'above the head, as after a loss of the journal',
  )
})

test('messages are bounded in size', async (t) => {
  const ada = await node.signIn()
  const client = await connect(t, node, ada)
  const { cursor } = await begin(client)
  const folder = `/${'ö'.repeat(120)}`.repeat(15)
  for (let number = 0; number < 80; number++)
    await send(ada, 'POST', '/mkdir', { path: `${folder}/${number}` })
  const seen: string[] = []
  let last = cursor
  while (seen.length < 80) {
    const message = await client.next('changes')
    t.ok(Buffer.byteLength(JSON.stringify(message)) <= largestChanges + 1000)
    t.ok(message.cursor > last)
    last = message.cursor
    seen.push(...pathsOf(message).map((path) => path.slice(folder.length + 1)))
    client.say({ type: 'ack', cursor: last })
  }
  t.same(
    seen,
    Array.from({ length: 80 }, (_, number) => String(number)),
    'each change once, in order',
  )
})

test('a client without a name follows, and is no device', async (t) => {
  const ada = await node.signIn()
  const client = await connect(t, node, ada)
  client.say({ type: 'hello', protocol: 1 })
  t.equal((await client.next('welcome')).device, null)
  const { head } = await client.next('reset')
  client.say({ type: 'ack', cursor: head })
  await put(ada, '/a', 'x')
  t.match((await client.next('changes')).changes, [{ path: '/a' }])
  t.same((await send(ada, 'GET', '/api/sync/devices')).body, { devices: [] })
})

test('a client that breaks the protocol is told why, and closed', async (t) => {
  const ada = await node.signIn()
  const broken: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, RegExp])[] = [
    ['no JSON', '{', /must be JSON/],
    ['bytes', new Uint8Array(3), /texts/],
    ['a long message', JSON.stringify({ type: 'ping', more: 'a'.repeat(5000) }), /4096 bytes/],
    ['an unknown type', '{"type":"welcome"}', /one of hello, ack, ping/],
    ['another version', '{"type":"hello","protocol":2}', /version 1/],
    ['an early ack', '{"type":"ack","cursor":7}', /last changes/],
  ]
  for (const [name, message, reason] of broken) {
    const client = await connect(t, node, ada)
    client.sendRaw(message)
    t.match((await client.next('error')).error, { code: 'VALIDATION_ERROR', message: reason }, name)
    t.match(await client.closed, { code: 1008, reason: 'VALIDATION_ERROR' }, name)
  }
  const greeted = await connect(t, node, ada)
  await begin(greeted)
  greeted.say({ type: 'hello', protocol: 1 })
  t.match((await greeted.next('error')).error.message, /once/)
})

test('a client that floods is closed, and so is one connection too many', async (t) => {
  const node = await createSyncNode({ config: { 'file-sync': { connectionsPerUser: 2 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const flooding = await connect(t, node, ada)
  await begin(flooding)
  for (let count = 0; count < 300; count++) flooding.say({ type: 'ping' })
  t.match(await flooding.closed, { code: 1008, reason: 'TOO_MANY_REQUESTS' })

  const kept = [await connect(t, node, ada), await connect(t, node, ada)]
  for (const client of kept) client.say({ type: 'hello', protocol: 1 })
  for (const client of kept) await client.next('welcome')
  const third = await connect(t, node, ada)
  t.match((await third.next('error')).error, { code: 'TOO_MANY_REQUESTS' })
  kept[0]?.close()
  await kept[0]?.closed
  const grace = await node.signIn()
  await begin(await connect(t, node, grace))
})

test('a connection needs a token that may read, and a page of the node', async (t) => {
  const ada = await node.signIn()
  const writing = await withToken(node, ada, ['files:write'])
  await t.rejects(connect(t, node, writing), 'a token without the scope')
  await t.rejects(connect(t, node, { token: 'nonsense' }))
  await t.rejects(connect(t, node, ada, {}), 'no token')
  const cookie = { cookie: `session=${ada.token}` }
  await t.rejects(connect(t, node, ada, { ...cookie, origin: 'https://evil.test' }), 'a page of another site')
  await begin(await connect(t, node, ada, { ...cookie, origin: node.url.origin }))
})

test('a connection ends with its token', async (t) => {
  const ada = await node.signIn()
  const token = await withToken(node, ada, ['files:read'])
  const client = await connect(t, node, token)
  await begin(client)
  await send(ada, 'DELETE', `/api/account/tokens/${token.id}`)
  t.match(await client.closed, { code: 1008, reason: 'The session has ended.' })
})

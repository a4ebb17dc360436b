import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setClock } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import {
  begin,
  type Client,
  createUploadsNode,
  metadataOf,
  offsetOf,
  patch,
  put,
  read,
  tus,
  unendingPiece,
  uploads,
} from './fixtures/uploads-node.ts'

const node = await createUploadsNode({ config: { storage: { maxFileSize: 8 * 1024 * 1024 } } })
t.teardown(() => node.stop())

const mebibyte = 1024 * 1024
const dayMs = 24 * 60 * 60 * 1000

async function staged(userUuid: string, { dataFolder } = node): Promise<string[]> {
  return readdir(join(dataFolder, 'plugins/uploads/not-in-backups/staged', userUuid)).catch(() => [])
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all forms
function jsonOf(answer: Response): Promise<any> {
  return answer.json()
}

async function listed({ fetch }: Client) {
  return (await jsonOf(await fetch(uploads))).uploads
}

test('a file arrives in pieces, and the answer to the last one tells its path and version', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(3 * mebibyte)
  const device = { 'x-nodekeep-device': 'phone', 'x-nodekeep-group': 'trip' }
  const address = await begin(ada, '/photos/öre.jpg', bytes.length, {
    ...metadataOf({ path: '/photos/öre.jpg', filetype: 'image/jpeg', mtime: '981173106' }),
  })
  const { status, headers } = await tus(ada, 'HEAD', address)
  t.equal(status, 200)
  t.match(Object.fromEntries(headers), {
    'upload-offset': '0',
    'upload-length': `${bytes.length}`,
    'cache-control': 'no-store',
  })
  const first = await patch(ada, address, 0, bytes.subarray(0, mebibyte), device)
  t.equal(first.status, 204)
  t.equal(first.headers.get('upload-offset'), `${mebibyte}`)
  t.equal(await offsetOf(ada, address), mebibyte)
  t.match(await listed(ada), [{ path: '/photos/öre.jpg', offset: mebibyte, length: bytes.length }])
  t.equal(await read(ada, '/photos/öre.jpg'), 404, 'a file appears when it is complete')

  const last = await patch(ada, address, mebibyte, bytes.subarray(mebibyte), device)
  t.equal(last.status, 204)
  t.equal(decodeURIComponent(last.headers.get('x-nodekeep-path') ?? ''), '/photos/öre.jpg')
  t.equal(last.headers.get('x-nodekeep-undo'), 'trip')
  t.same(await read(ada, '/photos/öre.jpg'), bytes)
  const stat = await ada.fetch('/stat?path=/photos/%C3%B6re.jpg')
  t.equal(stat.headers.get('etag'), last.headers.get('etag'))
  t.equal((await jsonOf(stat)).modified, '2001-02-03T04:05:06.000Z')
  const { changes } = await jsonOf(await ada.fetch('/api/files/changes/newest'))
  t.match(changes[0], { op: 'write', by: 'phone', group: 'trip', maker: { kind: 'session' } })
  t.same(await staged(ada.user.uuid), [], 'nothing is left behind')
  t.same(await listed(ada), [])

  const again = await tus(ada, 'HEAD', address)
  t.equal(
    again.headers.get('upload-offset'),
    `${bytes.length}`,
    'a client that lost the answer learns the end',
  )
  t.equal(again.headers.get('etag'), last.headers.get('etag'))
  t.equal((await patch(ada, address, bytes.length, '')).headers.get('etag'), last.headers.get('etag'))
})

test('an undo is offered only by the request that stores the file, and where the undo works', async (t) => {
  const ada = await node.signIn()
  const group = { 'x-nodekeep-group': 'run' }
  const offered = async (client: Client, path: string) => {
    const address = await begin(client, path, 1)
    const last = await patch(client, address, 0, 'x', group)
    return [last.status, last.headers.get('x-nodekeep-undo'), address] as const
  }
  const [, first, address] = await offered(ada, '/a')
  t.equal(first, 'run')
  t.equal(
    (await patch(ada, address, 1, '', { 'x-nodekeep-group': 'later' })).headers.get('x-nodekeep-undo'),
    null,
  )
  const other = await createUploadsNode({ config: { storage: { trash: false } } })
  t.teardown(() => other.stop())
  const bob = await other.signIn()
  t.match(await offered(bob, '/a'), [204, null], 'a new file would be gone for good')
  t.match(await offered(bob, '/a'), [204, 'run'], 'the former content is a version')
})

test('an upload begins with bytes, without a length, or without any byte', async (t) => {
  const ada = await node.signIn()
  const whole = await tus(
    ada,
    'POST',
    uploads,
    {
      ...metadataOf({ path: '/at-once' }),
      'upload-length': '5',
      'content-type': 'application/offset+octet-stream',
    },
    'bytes',
  )
  t.equal(whole.status, 201)
  t.ok(whole.headers.get('etag'))
  t.equal(String(await read(ada, '/at-once')), 'bytes')
  await begin(ada, '/empty', 0)
  t.equal(String(await read(ada, '/empty')), '')
  const address = await begin(ada, '/unknown', null)
  t.equal((await tus(ada, 'HEAD', address)).headers.get('upload-defer-length'), '1')
  t.equal((await patch(ada, address, 0, 'hello')).status, 204)
  t.equal((await patch(ada, address, 5, ' you', { 'upload-length': '9' })).status, 204)
  t.equal(String(await read(ada, '/unknown')), 'hello you')
})

test('the node tells what it supports, and refuses other versions', async (t) => {
  const ada = await node.signIn()
  const { status, headers } = await tus(ada, 'OPTIONS', uploads)
  t.equal(status, 204)
  t.equal(headers.get('tus-version'), '1.0.0')
  t.equal(headers.get('tus-max-size'), `${8 * mebibyte}`)
  t.equal(
    headers.get('tus-extension'),
    'creation,creation-with-upload,creation-defer-length,termination,expiration',
  )
  const old = await ada.fetch(uploads, { method: 'POST', headers: { 'tus-resumable': '0.2.2' } })
  t.equal(old.status, 412)
  t.equal(old.headers.get('tus-version'), '1.0.0')
})

test('what makes no sense is refused, and changes nothing', async (t) => {
  const ada = await node.signIn()
  await ada.fetch('/mkdir', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/folder' }),
  })
  await put(ada, '/file', 'x')
  const length = { 'upload-length': '5' }
  const path = metadataOf({ path: '/a' })
  const refused: [number, Record<string, string>][] = [
    [400, length],
    [400, path],
    [400, { ...length, 'upload-metadata': 'path not-base64' }],
    [400, { ...length, ...metadataOf({ path: '/../a' }) }],
    [400, { ...length, 'upload-metadata': `path ${Buffer.from('/\xff', 'latin1').toString('base64')}` }],
    [400, { ...length, ...metadataOf({ path: `/${'x'.repeat(300)}` }) }],
    [400, { ...length, ...metadataOf({ path: '/a', mtime: 'yesterday' }) }],
    [400, { ...path, 'upload-length': '-5' }],
    [400, { ...path, 'upload-length': '1e3' }],
    [413, { ...path, 'upload-length': `${8 * mebibyte + 1}` }],
    [409, { ...length, ...metadataOf({ path: '/folder' }) }],
    [409, { ...length, ...metadataOf({ path: '/file/in/a' }) }],
    [400, { ...length, ...path, 'upload-concat': 'partial' }],
    [400, { ...length, ...path, 'if-unmodified-since': new Date().toUTCString() }],
    [400, { ...length, ...path, 'if-match': '*', 'if-none-match': '*' }],
  ]
  for (const [status, headers] of refused) {
    const answer = await tus(ada, 'POST', uploads, headers)
    t.match(answer, { status, body: { error: true } }, JSON.stringify(headers).slice(0, 80))
  }
  t.same(await listed(ada), [])
  await t.rejects(
    tus(ada, 'POST', uploads, { ...length, ...metadataOf({ path: '/a', x: 'x'.repeat(20_000) }) }).then(
      ({ status }) => {
        if (status === 431) throw new Error('431')
      },
    ),
    'endless metadata',
  )

  const address = await begin(ada, '/a', 5)
  t.equal((await patch(ada, address, 1, 'ytes')).status, 409)
  t.equal((await patch(ada, address, 0, 'too many bytes')).status, 413)
  const stream = new Blob(['too many bytes']).stream()
  t.equal((await patch(ada, address, 0, stream)).status, 413, 'also without an announced length')
  t.equal((await patch(ada, address, 0, 'bytes', { 'content-type': 'text/plain' })).status, 400)
  t.equal((await patch(ada, address, 0, 'bytes', { 'upload-offset': '0.5' })).status, 400)
  t.equal((await patch(ada, address, 0, 'bytes', { 'upload-length': '5' })).status, 400)
  t.equal((await tus(ada, 'POST', address)).status, 405)
  t.equal(await offsetOf(ada, address), 0)
  const overridden = { 'x-http-method-override': 'PATCH', 'upload-offset': '0' }
  const type = { 'content-type': 'application/offset+octet-stream' }
  t.equal((await tus(ada, 'POST', address, { ...overridden, ...type }, 'bytes')).status, 204)
  t.equal(String(await read(ada, '/a')), 'bytes')
})

test('conditions of the begin hold at the end', async (t) => {
  const ada = await node.signIn()
  const version = await put(ada, '/a', 'first')
  const fresh = await begin(ada, '/new', 5, { 'if-none-match': '*' })
  const change = await begin(ada, '/a', 5, { 'if-match': version })
  const any = await begin(ada, '/a', 5, { 'if-match': '*' })
  t.equal(
    (
      await tus(ada, 'POST', uploads, {
        ...metadataOf({ path: '/a' }),
        'upload-length': '5',
        'if-none-match': '*',
      })
    ).status,
    412,
  )
  t.equal(
    (
      await tus(ada, 'POST', uploads, {
        ...metadataOf({ path: '/b' }),
        'upload-length': '5',
        'if-match': '*',
      })
    ).status,
    412,
  )
  t.equal(
    (
      await tus(ada, 'POST', uploads, {
        ...metadataOf({ path: '/a' }),
        'upload-length': '5',
        'if-match': '"other"',
      })
    ).status,
    412,
  )
  const open = await begin(ada, '/open', 5)
  t.equal((await patch(ada, open, 0, 'bytes', { 'if-none-match': '*' })).status, 400)

  await put(ada, '/a', 'second')
  await put(ada, '/new', 'second')
  for (const address of [fresh, change, any]) {
    t.match(await patch(ada, address, 0, 'bytes'), { status: 412, body: { code: 'PRECONDITION_FAILED' } })
    t.equal(await offsetOf(ada, address), 4, 'an upload is only complete when its file is stored')
  }
  t.equal(String(await read(ada, '/a')), 'second')
  t.equal(String(await read(ada, '/new')), 'second')
  t.equal((await patch(ada, change, 4, 's')).status, 412)

  await ada.fetch('/delete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/new' }),
  })
  t.equal((await patch(ada, fresh, 4, 's')).status, 204, 'the last byte tries again')
  t.equal(String(await read(ada, '/new')), 'bytes')

  const written = await put(ada, '/a', 'bytes')
  const end = await patch(ada, any, 4, 's')
  t.equal(end.status, 204, 'a file with the content is the one that a killed node had stored')
  t.equal(end.headers.get('etag'), written)
})

test('of empty files that are begun at the same time where nothing may be, one is stored', async (t) => {
  const ada = await node.signIn()
  const headers = { ...metadataOf({ path: '/empty' }), 'upload-length': '0', 'if-none-match': '*' }
  const answers = await Promise.all(Array.from({ length: 8 }, () => tus(ada, 'POST', uploads, headers)))
  t.same(answers.map(({ status }) => status).sort(), [201, ...Array.from({ length: 7 }, () => 412)])
  t.same(await listed(ada), [])
})

test('nobody reaches an upload of another user', async (t) => {
  const [ada, eve] = [await node.signIn(), await node.signIn()]
  const address = await begin(ada, '/secret', 6)
  const receiving = patch(ada, address, 0, unendingPiece(Buffer.from('sec')))
  // The signal of a piece that is being received is its file.
  while ((await staged(ada.user.uuid)).length === 0) await node.fetch('/health')
  for (const method of ['HEAD', 'DELETE']) t.equal((await tus(eve, method, address)).status, 404)
  t.equal((await patch(eve, address, 3, 'ret')).status, 404)
  t.same(await listed(eve), [])
  t.equal((await node.fetch(uploads)).status, 401)
  t.equal(await offsetOf(ada, address), 3, 'the connection of the user was not cut before')
  t.equal((await receiving).status, 409)
  t.equal((await patch(ada, address, 3, 'ret')).status, 204)
})

test('the newest request of a client goes on, and a deletion ends all', async (t) => {
  const ada = await node.signIn()
  const address = await begin(ada, '/a', 9)
  const sevenEnded = Promise.withResolvers<void>()
  const statuses: number[] = []
  const pieces = Array.from({ length: 8 }, async () => {
    statuses.push((await patch(ada, address, 0, unendingPiece(Buffer.from('bytes')))).status)
    if (statuses.length === 7) sevenEnded.resolve()
  })
  await sevenEnded.promise
  const offset = await offsetOf(ada, address)
  await Promise.all(pieces)
  t.ok(offset <= 5)
  t.strictSame(new Set(statuses), new Set([409]))
  const both = await Promise.all(
    [1, 2].map(() => patch(ada, address, offset, 'some bytes'.slice(0, 9 - offset))),
  )
  t.equal(both.filter(({ status }) => status === 204).length, 1)
  const gone = await begin(ada, '/gone', 9)
  const piece = patch(ada, gone, 0, unendingPiece(Buffer.from('bytes')))
  while ((await staged(ada.user.uuid)).length === 0) await node.fetch('/health')
  t.equal((await tus(ada, 'DELETE', gone)).status, 204)
  t.not((await piece).status, 204)
  t.equal((await tus(ada, 'HEAD', gone)).status, 404)
  t.same(await staged(ada.user.uuid), [])
})

test('many begun uploads, tiny pieces and a flood of HEAD cost little', async (t) => {
  const ada = await node.signIn()
  const kept = await begin(ada, '/kept', 2000)
  const receiving = patch(ada, kept, 0, unendingPiece(Buffer.alloc(1000, 'a')))
  while ((await staged(ada.user.uuid)).length === 0) await node.fetch('/health')
  const first = await begin(ada, '/0', 5)
  await patch(ada, first, 0, 'a')
  for (let begun = 0; begun < 200; begun += 50) {
    const batch = Array.from({ length: 50 }, (_, number) => begin(ada, `/${begun + number}`, 5))
    await Promise.all(batch)
  }
  t.equal((await listed(ada)).length, 64)
  t.equal((await tus(ada, 'HEAD', first)).status, 404, 'those unused for longest are forgotten')
  t.equal((await staged(ada.user.uuid)).length, 1)
  t.equal((await node.fetch('/health')).status, 200)
  await Promise.all(Array.from({ length: 200 }, () => offsetOf(ada, kept)))
  t.equal((await receiving).status, 409)
  for (let offset = 1000; offset < 1050; offset += 1) await patch(ada, kept, offset, 'b')
  t.equal((await patch(ada, kept, 1050, Buffer.alloc(950, 'b'))).status, 204)
  t.same(await read(ada, '/kept'), Buffer.concat([Buffer.alloc(1000, 'a'), Buffer.alloc(1000, 'b')]))
})

test('a large file takes no memory', async (t) => {
  const large = await createUploadsNode()
  t.teardown(() => large.stop())
  const ada = await large.signIn()
  const size = 192 * mebibyte
  const piece = new Uint8Array(mebibyte / 4)
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  let sent = 0
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      sent += piece.length
      controller.enqueue(piece)
      if (sent === size) controller.close()
    },
  })
  t.equal((await patch(ada, await begin(ada, '/large', size), 0, body)).status, 204)
  t.ok(most < 64 * mebibyte, `${most} bytes`)
})

test('unfinished uploads have a bound of bytes, also of those that are on the way', async (t) => {
  const small = await createUploadsNode({
    config: { uploads: { stagedBytesPerUser: 2 * mebibyte, uploadsPerUser: 2 } },
  })
  t.teardown(() => small.stop())
  const ada = await small.signIn()
  const [a, b] = [await begin(ada, '/a', 2 * mebibyte), await begin(ada, '/b', 2 * mebibyte)]
  t.equal((await patch(ada, a, 0, new Uint8Array(1.5 * mebibyte))).status, 204)
  t.match(await patch(ada, b, 0, new Uint8Array(mebibyte)), {
    status: 507,
    body: { code: 'INSUFFICIENT_STORAGE' },
  })
  const receiving = patch(ada, b, 0, unendingPiece(new Uint8Array(1)))
  t.match(await receiving, { status: 507 }, 'a piece of unknown size counts as all that is missing')
  t.equal((await tus(ada, 'DELETE', a)).status, 204)
  const pieces = [b, await begin(ada, '/c', 10)].map((address) =>
    patch(ada, address, 0, unendingPiece(new Uint8Array(1))),
  )
  while ((await staged(ada.user.uuid, small)).length < 1) await small.fetch('/health')
  const [c] = (await listed(ada)).filter(({ path }: { path: string }) => path === '/c')
  t.equal((await tus(ada, 'DELETE', b)).status, 204)
  t.equal((await tus(ada, 'DELETE', `${uploads}/${c.id}`)).status, 204)
  await Promise.all(pieces)
})

test('an upload that nobody goes on with is gone after seven days', async (t) => {
  t.teardown(() => setClock(null))
  const dataFolder = t.testdir()
  const first = await createUploadsNode({ dataFolder })
  const ada = await first.signIn()
  await patch(ada, await begin(ada, '/a', 9), 0, 'bytes')
  t.match(await listed(ada), [{ offset: 5 }])
  await first.stop()
  const now = Date.now()
  setClock(new Date(now + 6 * dayMs))
  await (await createUploadsNode({ dataFolder })).stop()
  t.equal((await staged(ada.user.uuid, first)).length, 1)
  setClock(new Date(now + 8 * dayMs))
  const later = await createUploadsNode({ dataFolder })
  t.teardown(() => later.stop())
  while ((await staged(ada.user.uuid, first)).length > 0) await later.fetch('/health')
})

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import { mostBlocks } from '../../../src/protocol/bodies.ts'
import { createSyncNode, put, send, withToken } from '../../fixtures/sync-node.ts'
import { beginUpload, contentOf, partsOf, sendBlock, sha256, upload } from '../../fixtures/uploader.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

const mebibyte = 1024 * 1024

async function read(user: TestUser, path: string): Promise<Buffer> {
  return Buffer.from(await (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).arrayBuffer())
}

/** The names of a user's staged blocks. */
function stagedOf({ dataFolder }: TestNode, { user }: TestUser): Promise<string[]> {
  return readdir(join(dataFolder, 'plugins/file-sync/not-in-backups/blocks', user.uuid))
}

test('a file is uploaded by blocks, and only what changed is sent again', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(12 * mebibyte)
  const modified = '2001-02-03T04:05:06.000Z'
  const first = await upload(ada, '/photos/large', bytes, { ifAbsent: true, modified })
  t.equal(first.sent, bytes.length)
  t.match(first, { status: 200, body: { path: '/photos/large', size: bytes.length, modified } })
  t.ok(bytes.equals(await read(ada, '/photos/large')))
  t.same(await stagedOf(node, ada), [], 'nothing is left behind')

  const inserted = Buffer.concat([bytes.subarray(0, 5_000_000), Buffer.from('!'), bytes.subarray(5_000_000)])
  const second = await upload(ada, '/photos/large', inserted, { ifRevision: first.body.revision })
  t.equal(second.status, 200)
  t.ok(second.sent < 2 * mebibyte, `${second.sent} bytes were sent`)
  t.ok(inserted.equals(await read(ada, '/photos/large')))

  const newest = await send(ada, 'GET', '/api/files/changes/newest')
  t.match(newest.body.changes[0], { path: '/photos/large', hash: sha256(inserted) }, 'its hash is known')

  const copy = await upload(ada, '/copy', inserted)
  t.match(copy, { status: 200, sent: 0 }, 'equal content is never sent twice')
  t.ok(inserted.equals(await read(ada, '/copy')))
  t.match(await upload(ada, '/empty', new Uint8Array(0)), { status: 200, body: { size: 0 } })
})

test('an upload names its device and the token of it', async (t) => {
  const ada = await node.signIn()
  const token = await withToken(node, ada, ['files:read', 'files:write'])
  const device: Pick<TestUser, 'fetch'> = {
    fetch: (path, init = {}) => {
      const headers = new Headers(init.headers)
      headers.set('x-nodekeep-device', 'laptop')
      return token.fetch(path, { ...init, headers })
    },
  }
  t.match(await upload(device, '/report', randomBytes(1000)), { status: 200 })
  const { body } = await send(ada, 'GET', '/api/files/changes/newest')
  const maker = { kind: 'token', id: token.id, name: 'test', user: ada.user.uuid }
  t.match(body.changes, [{ op: 'write', path: '/report', by: 'laptop', maker }])
})

test('content of others is not told apart from content that nobody has', async (t) => {
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  const bytes = randomBytes(mebibyte)
  await upload(ada, '/secret', bytes)
  const { body } = await beginUpload(grace, '/mine', contentOf(bytes))
  t.equal(body.missing.length, contentOf(bytes).blocks.length)
  t.match(await send(ada, 'GET', `/api/sync/uploads/${body.id}`), { status: 404 })
  t.match(await send(ada, 'DELETE', `/api/sync/uploads/${body.id}`), { status: 404 })
  t.match(await send(ada, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 404 })
})

test('a token that may not read files learns nothing about them', async (t) => {
  const ada = await node.signIn()
  const bytes = Buffer.from('the code is 1234')
  await upload(ada, '/secret', bytes)
  const writing = await withToken(node, ada, ['files:write'])
  const { body } = await beginUpload(writing, '/guess', contentOf(bytes))
  t.same(body.missing, [0])
  t.same((await send(writing, 'GET', `/api/sync/uploads/${body.id}`)).body.missing, [0])
  t.match(await send(writing, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 422 })
  t.match(await upload(writing, '/guess', bytes), { status: 200, sent: bytes.length })
  const both = await withToken(node, ada, ['files:read', 'files:write'])
  t.match(await upload(both, '/copy', bytes), { status: 200, sent: 0 })
})

test('an upload goes on after a restart', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-test-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const bytes = randomBytes(3 * mebibyte)
  const content = contentOf(bytes)
  const [first, ...others] = partsOf(bytes, content)
  const before = await createSyncNode({ dataFolder })
  const owner = await before.signIn('owner')
  const { body } = await beginUpload(owner, '/large', content)
  await sendBlock(owner, body.id, first?.sha256 ?? '', first?.bytes ?? new Uint8Array())
  await before.stop()

  const after = await createSyncNode({ dataFolder })
  t.teardown(() => after.stop())
  const again = await after.signIn('owner')
  const { missing } = (await send(again, 'GET', `/api/sync/uploads/${body.id}`)).body
  t.same(missing, body.missing.slice(1))
  t.match(
    (await beginUpload(again, '/large', content)).body,
    { id: body.id, missing },
    'begun anew, it is the same',
  )
  t.match(await send(again, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 422 }, 'not complete')
  for (const part of others) await sendBlock(again, body.id, part.sha256, part.bytes)
  const committed = await again.fetch(`/api/sync/uploads/${body.id}/commit`, { method: 'POST' })
  t.match(
    [committed.status, committed.headers.get('x-nodekeep-undo')],
    [200, /^[\w-]{20}$/],
    'it can be taken back',
  )
  t.ok(bytes.equals(await read(again, '/large')))
  t.match(await send(again, 'GET', `/api/sync/uploads/${body.id}`), { status: 404 })
})

test('conditions hold at the begin and at the commit', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(1000)
  const revision = await put(ada, '/a', 'old')
  t.match(await upload(ada, '/a', bytes), { status: 412 }, 'something is there')
  t.match(await upload(ada, '/a', bytes, { ifRevision: 'another' }), { status: 412 })
  t.match(await upload(ada, '/b', bytes, { ifRevision: revision }), { status: 412 }, 'nothing is there')

  const content = contentOf(bytes)
  const { body } = await beginUpload(ada, '/a', content, { ifRevision: revision })
  await sendBlock(ada, body.id, content.sha256, bytes)
  await put(ada, '/a', 'newer')
  t.match(await send(ada, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 412 })
  t.equal(String(await read(ada, '/a')), 'newer')
  const conflict = await upload(ada, '/a (conflict)', bytes)
  t.match(conflict, { status: 200, sent: 0 }, 'the blocks serve another path')
  t.match(await send(ada, 'DELETE', `/api/sync/uploads/${body.id}`), { status: 200 })
  t.same(await stagedOf(node, ada), [])
})

test('a client cannot lie about hashes', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(1000)
  const content = contentOf(bytes)
  const { body } = await beginUpload(ada, '/a', content)
  for (const [name, wrong] of [
    ['other bytes', randomBytes(1000)],
    ['too few', bytes.subarray(1)],
    ['too many', randomBytes(3 * mebibyte)],
  ] as const) {
    t.equal((await sendBlock(ada, body.id, content.sha256, wrong)).status, 400, name)
  }
  t.equal((await sendBlock(ada, body.id, sha256('another'), bytes)).status, 404)
  t.same(await stagedOf(node, ada), [])
  t.match(await send(ada, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 422 })

  const lie = { ...content, sha256: sha256('another') }
  const begun = await beginUpload(ada, '/lie', lie)
  await sendBlock(ada, begun.body.id, content.sha256, bytes)
  t.match(await send(ada, 'POST', `/api/sync/uploads/${begun.body.id}/commit`), {
    status: 422,
    body: { message: /SHA-256 of the upload/ },
  })
  t.equal((await ada.fetch('/stat?path=/lie')).status, 404, 'nothing is stored')
  t.match((await beginUpload(ada, '/lie', lie)).body.missing, [0], 'its blocks do not count any more')

  const large = randomBytes(3 * mebibyte)
  const truth = contentOf(large)
  await upload(ada, '/large', large)
  const untrue = { ...truth, blocks: [{ sha256: sha256('another'), size: truth.size }] }
  const untold = await beginUpload(ada, '/copy', untrue)
  const { body: copy } = await send(ada, 'POST', `/api/sync/uploads/${untold.body.id}/commit`)
  const query = new URLSearchParams({ path: '/copy', revision: copy.revision })
  t.same(
    (await send(ada, 'GET', `/api/sync/blocks?${query}`)).body,
    truth,
    'nor about blocks of a whole that is there',
  )

  const [block] = content.blocks
  for (const [name, wrong] of [
    ['sizes that do not add up', { ...content, size: 999 }],
    ['two sizes of one block', { ...content, size: 1001, blocks: [block, { ...block, size: 1 }] }],
    ['no hash', { ...content, sha256: 'x' }],
    ['both conditions', { ...content, ifRevision: 'x' }],
  ] as const) {
    t.match(await beginUpload(ada, '/b', wrong as never, { ifAbsent: true, ...wrong }), { status: 400 }, name)
  }
  t.match(await beginUpload(ada, '/b', content, {}), { status: 400 }, 'no condition')
  for (const path of ['/../a', 'a', '/a/', '/a\0']) {
    t.match(await beginUpload(ada, path, content), { status: 400 }, path)
  }
})

test('a source that changes meanwhile is sent instead', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(2 * mebibyte)
  await upload(ada, '/source', bytes)
  const begun = await beginUpload(ada, '/copy', contentOf(bytes))
  t.same(begun.body.missing, [])
  await put(ada, '/source', 'changed')
  t.match(await send(ada, 'POST', `/api/sync/uploads/${begun.body.id}/commit`), { status: 422 })
  t.match(await upload(ada, '/copy', bytes), { status: 200, sent: bytes.length })
})

test('a file has as many blocks as the protocol allows', async (t) => {
  const ada = await node.signIn()
  const blocksOf = (count: number) => {
    const blocks = Array.from({ length: count }, (_, number) => ({ sha256: sha256(String(number)), size: 1 }))
    return { sha256: sha256('whole'), size: count, blocks }
  }
  const { body } = await beginUpload(ada, '/a', blocksOf(mostBlocks))
  t.equal(body.missing.length, mostBlocks)
  t.equal((await sendBlock(ada, body.id, sha256('9'), Buffer.from('9'))).status, 200)
  t.notOk((await send(ada, 'GET', `/api/sync/uploads/${body.id}`)).body.missing.includes(9))
  t.match(await beginUpload(ada, '/b', blocksOf(mostBlocks + 1)), { status: 400 })
})

test('blocks come from the file to replace, in any order, and equal ones are named once', async (t) => {
  const ada = await node.signIn()
  const former = randomBytes(3 * mebibyte)
  const parts = [...partsOf(former, contentOf(former))].map(({ bytes }) => bytes)
  // Nobody has asked for the hashes of the file before.
  const revision = await put(ada, '/a', former)
  const [added, zeros] = [randomBytes(100_000), Buffer.alloc(100_000)]
  const blocks = [zeros, ...parts.slice(1), ...parts.slice(0, 1), added, zeros]
  const bytes = Buffer.concat(blocks)
  const content = {
    sha256: sha256(bytes),
    size: bytes.length,
    blocks: blocks.map((block) => ({ sha256: sha256(block), size: block.length })),
  }
  const { body } = await beginUpload(ada, '/a', content, { ifRevision: revision })
  t.same(body.missing, [blocks.indexOf(zeros), blocks.indexOf(added)])
  for (const block of [zeros, added]) await sendBlock(ada, body.id, sha256(block), block)
  t.match(await send(ada, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 200 })
  t.ok((await read(ada, '/a')).equals(bytes))
})

test('a file that a disk has damaged is no source of blocks any more', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(1000)
  const revision = await put(ada, '/a', bytes)
  await send(ada, 'POST', '/api/sync/hashes', { files: [{ path: '/a', revision }] })
  const file = join(node.dataFolder, 'files', ada.user.uuid, 'a')
  const { atime, mtime } = await stat(file)
  await writeFile(file, randomBytes(1000), { flag: 'r+' })
  await utimes(file, atime, mtime)
  const { body } = await beginUpload(ada, '/b', contentOf(bytes))
  t.same(body.missing, [])
  t.match(await send(ada, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 422 })
  t.match(await upload(ada, '/b', bytes), { status: 200, sent: 1000 })
})

test('a block that is longer than announced is refused before its end', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(1000)
  const { body } = await beginUpload(ada, '/a', contentOf(bytes))
  const endless = request(new URL(`/api/sync/uploads/${body.id}/blocks/${sha256(bytes)}`, node.url), {
    method: 'PUT',
    headers: { authorization: `Bearer ${ada.token}` },
  })
  t.teardown(() => endless.destroy())
  const answered = once(endless, 'response')
  endless.write(Buffer.concat([bytes, bytes]))
  const [{ statusCode }] = await answered
  t.equal(statusCode, 400)
  t.same(await stagedOf(node, ada), [])
})

test('blocks that arrive at the same time count together', async (t) => {
  const node = await createSyncNode({ config: { 'file-sync': { stagedBytesPerUser: mebibyte } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const [one, two] = [randomBytes(700_000), randomBytes(700_000)]
  const begin = (path: string, bytes: Buffer) => {
    const block = { sha256: sha256(bytes), size: bytes.length }
    return beginUpload(ada, path, { ...block, blocks: [block] })
  }
  const { body } = await begin('/a', one)
  const other = await begin('/b', two)
  const slow = request(new URL(`/api/sync/uploads/${body.id}/blocks/${sha256(one)}`, node.url), {
    method: 'PUT',
    headers: { authorization: `Bearer ${ada.token}`, 'content-length': one.length },
  })
  const answered = once(slow, 'response')
  await new Promise((resolve) => slow.write(one.subarray(0, 350_000), resolve))
  const { status } = await sendBlock(ada, other.body.id, sha256(two), two)
  slow.end(one.subarray(350_000))
  const [{ statusCode }] = await answered
  t.same([status, statusCode].sort(), [200, 507], 'there is room for one of them')
})

test('blocks count toward the quota of their user, and the file that is made of them takes their room', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-test-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const options = { dataFolder, config: { storage: { quota: 2 * mebibyte } } }
  const before = await createSyncNode(options)
  const taken = async (user: Pick<TestUser, 'fetch'>) =>
    (await send(user, 'GET', '/api/files/usage')).body.quota.taken
  let owner = await before.signIn('owner')
  const bytes = randomBytes(1_500_000)
  const content = contentOf(bytes)
  const { body } = await beginUpload(owner, '/large', content)
  t.equal(await taken(owner), 0, 'what is not sent takes nothing')
  for (const part of partsOf(bytes, content)) await sendBlock(owner, body.id, part.sha256, part.bytes)
  t.equal(await taken(owner), bytes.length)
  const other = await beginUpload(owner, '/other', contentOf(randomBytes(mebibyte)))
  t.match(other, { status: 507, body: { code: 'INSUFFICIENT_STORAGE', message: /ask the owner/ } })
  await before.stop()

  const after = await createSyncNode(options)
  t.teardown(() => after.stop())
  owner = await after.signIn('owner')
  t.match((await beginUpload(owner, '/large', content)).body, { id: body.id, missing: [] })
  t.equal(await taken(owner), bytes.length, 'they count after a restart')
  t.match(await send(owner, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 200 })
  t.equal(await taken(owner), bytes.length)
  t.match(await upload(owner, '/copy', bytes), { status: 507 }, 'a file of known blocks needs room')
  t.match(await send(owner, 'POST', '/delete', { path: '/large', permanent: true }), { status: 200 })
  t.equal(await taken(owner), 0)
})

test('uploads are bounded', async (t) => {
  const node = await createSyncNode({
    config: { storage: { maxFileSize: 4 * mebibyte }, 'file-sync': { stagedBytesPerUser: mebibyte } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(await beginUpload(ada, '/a', contentOf(randomBytes(5 * mebibyte))), { status: 413 })
  const large = await beginUpload(ada, '/a', contentOf(randomBytes(3 * mebibyte)))
  t.match(
    large,
    { status: 413, body: { message: /stagedBytesPerUser/ } },
    'its blocks would never fit together',
  )
  const begun = []
  const statuses = []
  for (const path of ['/a', '/b']) {
    const bytes = randomBytes(700_000)
    const content = contentOf(bytes)
    const { body } = await beginUpload(ada, path, content)
    begun.push(body.id)
    for (const part of partsOf(bytes, content)) {
      statuses.push((await sendBlock(ada, body.id, part.sha256, part.bytes)).status)
    }
  }
  t.equal(statuses[0], 200)
  // The last block may be so small that it still fits.
  t.ok(statuses.includes(507), statuses.join())
  for (const id of begun) await send(ada, 'DELETE', `/api/sync/uploads/${id}`)
  t.match(await upload(ada, '/b', randomBytes(1000)), { status: 200 })

  const ids = []
  for (let number = 0; number < 65; number++) {
    ids.push((await beginUpload(ada, `/c${number}`, contentOf(randomBytes(10)))).body.id)
  }
  t.match(
    await send(ada, 'GET', `/api/sync/uploads/${ids[0]}`),
    { status: 404 },
    'the oldest of 65 is forgotten',
  )
  t.match(await send(ada, 'GET', `/api/sync/uploads/${ids[1]}`), { status: 200 })
})

test('a token that is revoked in the middle of an upload ends it', async (t) => {
  const ada = await node.signIn()
  const token = await withToken(node, ada, ['files:write'])
  const bytes = randomBytes(mebibyte)
  const content = contentOf(bytes)
  const { body } = await beginUpload(token, '/a', content)
  const [first, ...others] = partsOf(bytes, content)
  await sendBlock(token, body.id, first?.sha256 ?? '', first?.bytes ?? new Uint8Array())
  t.match(await send(ada, 'DELETE', `/api/account/tokens/${token.id}`), { status: 200 })
  for (const part of others) t.equal((await sendBlock(token, body.id, part.sha256, part.bytes)).status, 401)
  t.match(await send(token, 'POST', `/api/sync/uploads/${body.id}/commit`), { status: 401 })
  t.equal((await ada.fetch('/stat?path=/a')).status, 404)

  const reading = await withToken(node, ada, ['files:read'])
  t.match(await beginUpload(reading, '/b', content), { status: 403 })
  t.equal((await sendBlock(reading, body.id, content.sha256, bytes)).status, 403)
})

import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { ageKept } from '../fixtures/age-kept.ts'
import { post, put } from '../fixtures/files-node.ts'
import { userOfNode } from '../fixtures/kept-api.ts'
import { createKeptNode, keptFilesOf, type storages } from '../fixtures/kept-node.ts'

/** Items that may give way, of 100 bytes each. */
const oldItems = 5

/**
 * A user whose quota of 1,000 bytes is full: with `/file`, `/folder` and `/full`, and five items of the trash that are two days old.
 */
async function fullUser(t: Test, kind: (typeof storages)[number] = 'local') {
  const dataFolder = t.testdir()
  const storage = { quota: 1000, maxFileSize: 400 }
  const first = await createKeptNode(t, kind, storage, { dataFolder })
  const { ada, files } = await first.newUser()
  const items = Array.from({ length: oldItems }, (_, index) => `/old ${index}`)
  for (const path of items) {
    await put(ada, path, Buffer.alloc(100))
    await files.remove(path)
  }
  for (const [path, size] of [
    ['/file', 100],
    ['/folder/in', 100],
    ['/full', 300],
  ] as const)
    await put(ada, path, Buffer.alloc(size))
  await first.node.stop()
  ageKept(dataFolder, Object.fromEntries(items.map((path) => [path, 2])))
  const { node, services, backend, objects } = await createKeptNode(t, kind, storage, { dataFolder })
  const user = userOfNode(node, ada)
  return { user, services, objects, ...keptFilesOf(services, user, backend) }
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer
  await body?.cancel()
  return status
}

/** Content that comes in pieces, and ends early if the second one fails. */
async function* pieces(size: number, failure?: Error): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.alloc(size / 2)
  if (failure !== undefined) throw failure
  yield Buffer.alloc(size / 2)
}

t.test('a write that is refused or broken off lets nothing give way', async (t) => {
  const { user, services, files, trashed } = await fullUser(t)
  const before = await trashed()
  t.equal(before.length, oldItems)
  const content = (size: number) => Readable.from([Buffer.alloc(size)])
  const refused = {
    PRECONDITION_FAILED: [
      () => files.write('/file', content(200), { ifRevision: 'another' }),
      () => files.write('/new', content(200), { ifRevision: 'another' }),
      () => files.write('/file', content(200), { ifAbsent: true, size: 200 }),
    ],
    CONFLICT: [() => files.write('/folder', content(200)), () => files.write('/file/in/it', content(200))],
    VALIDATION_ERROR: [() => files.write('/new', content(100), { size: 200 })],
    PAYLOAD_TOO_LARGE: [() => files.write('/new', pieces(600))],
  }
  for (const [code, writes] of Object.entries(refused)) {
    for (const write of writes) await t.rejects(write(), { code })
    t.strictSame(await trashed(), before, code)
  }
  await t.rejects(files.write('/new', pieces(300, new Error('The client is gone.'))))
  {
    using room = services.files.holdRoom(user.user)
    await room.extend(200)
    await t.rejects(files.write('/new', content(400)), { code: 'INSUFFICIENT_STORAGE' })
  }
  t.equal(await statusOf(put(user, '/file', Buffer.alloc(200), { 'if-none-match': '*' })), 412)
  t.equal(await statusOf(put(user, '/new', Buffer.alloc(401))), 413)
  const control = new AbortController()
  const aborted = files.write('/new', pieces(300), { signal: control.signal })
  control.abort(new Error('The client is gone.'))
  await t.rejects(aborted)
  t.strictSame(await trashed(), before)

  t.equal(await statusOf(put(user, '/new', Buffer.alloc(150))), 200)
  t.strictSame(await trashed(), before.slice(0, 3), 'as few as suffice give way to a file that is stored')
})

t.test('of uploads that count on the same old items, those succeed that fit', async (t) => {
  const { user, files, trashed } = await fullUser(t)
  const uploads = Array.from({ length: 12 }, (_, index) =>
    statusOf(put(user, `/new ${index}`, Buffer.alloc(100))),
  )
  const statuses = await Promise.all(uploads)
  t.equal(statuses.filter((status) => status === 200).length, oldItems)
  t.equal(statuses.filter((status) => status === 507).length, 12 - oldItems)
  t.strictSame(await trashed(), [])
  await t.rejects(files.write('/more', pieces(2)), { code: 'INSUFFICIENT_STORAGE' })
})

for (const kind of ['local', 'copies'] as const) {
  t.test(`a copy that fails lets nothing give way, on the storage "${kind}"`, async (t) => {
    const { user, objects, files, trashed } = await fullUser(t, kind)
    const before = await trashed()
    const copy = (source: string, destination: string) =>
      statusOf(post(user, 'api/files/copy', { source, destination }))
    t.equal(await copy('/full', '/folder'), 409)
    await t.rejects(files.copy('/full', '/copy', { ifRevision: 'another' }), { code: 'PRECONDITION_FAILED' })
    if (kind === 'copies') {
      objects.failAfter(2, false)
      await t.rejects(files.copy('/full', '/copy'), { code: 'SERVICE_UNAVAILABLE' })
      objects.failAfter(Number.POSITIVE_INFINITY, false)
    }
    t.strictSame(await trashed(), before)
    t.equal(await copy('/full', '/copy'), 200)
    t.strictSame(await trashed(), before.slice(0, 2))
    t.equal(await copy('/full', '/again'), 507)
    t.strictSame(await trashed(), before.slice(0, 2))
  })
}

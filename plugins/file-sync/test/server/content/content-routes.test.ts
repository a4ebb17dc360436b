import { createHash, randomBytes } from 'node:crypto'
import { stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { test } from 'tap'
import { ContentBlocks } from '../../../src/protocol/content-blocks.ts'
import { createShakyStorage } from '../../fixtures/shaky-storage.ts'
import { createSyncNode, put, send, withToken } from '../../fixtures/sync-node.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('files are hashed in the revisions that the client names', async (t) => {
  const ada = await node.signIn()
  const large = randomBytes(5_000_000)
  const files = [
    { path: '/small', revision: await put(ada, '/small', 'small') },
    { path: '/large', revision: await put(ada, '/large', large) },
    { path: '/empty', revision: await put(ada, '/empty', '') },
  ]
  const others = [
    { path: '/small', revision: 'another' },
    { path: '/gone', revision: 'x' },
    { path: 'no path', revision: 'x' },
    { path: '/', revision: 'x' },
  ]
  const ask = (list: readonly object[]) => send(ada, 'POST', '/api/sync/hashes', { files: list })
  const expected = [sha256('small'), sha256(large), sha256(''), null, null, null, null]
  for (const time of ['computed', 'remembered']) {
    const { body } = await ask([...files, ...others])
    t.same(
      body.hashes,
      [...files, ...others].map((file, at) => ({ ...file, sha256: expected[at] })),
      time,
    )
  }
  const revision = await put(ada, '/small', 'changed')
  const { body } = await ask([{ path: '/small', revision }])
  t.equal(body.hashes[0].sha256, sha256('changed'))

  const file = join(node.dataFolder, 'files', ada.user.uuid, 'small')
  const { atime, mtime } = await stat(file)
  await writeFile(file, 'rewrote', { flag: 'r+' })
  await utimes(file, atime, mtime)
  for (const fresh of [true, false]) {
    const { body } = await send(ada, 'POST', '/api/sync/hashes', {
      files: [{ path: '/small', revision }],
      fresh,
    })
    t.equal(body.hashes[0].sha256, sha256(fresh ? 'rewrote' : 'changed'), `fresh: ${fresh}`)
  }

  const grace = await node.signIn()
  const hers = await send(grace, 'POST', '/api/sync/hashes', { files })
  t.same(
    hers.body.hashes.map((hash: { sha256: unknown }) => hash.sha256),
    [null, null, null],
    'nobody learns of the files of others',
  )
})

test('the blocks of a file are those that the client would cut', async (t) => {
  const ada = await node.signIn()
  const bytes = randomBytes(5_000_000)
  const revision = await put(ada, '/large', bytes)
  const blocks = new ContentBlocks(bytes.length, () => createHash('sha256'))
  blocks.add(bytes)
  const content = blocks.end()
  const query = new URLSearchParams({ path: '/large', revision })
  for (const time of ['computed', 'remembered']) {
    t.same((await send(ada, 'GET', `/api/sync/blocks?${query}`)).body, content, time)
  }
  const small = new URLSearchParams({ path: '/small', revision: await put(ada, '/small', 'x') })
  t.match((await send(ada, 'GET', `/api/sync/blocks?${small}`)).body, {
    blocks: [{ sha256: sha256('x'), size: 1 }],
  })
  query.set('revision', 'another')
  t.match(await send(ada, 'GET', `/api/sync/blocks?${query}`), { status: 412 })
})

test('requests for hashes are bounded, and need the scope', async (t) => {
  const ada = await node.signIn()
  const file = { path: '/a', revision: 'x' }
  for (const files of [[], Array.from({ length: 1001 }, () => file), [{ path: '/a' }]]) {
    t.match(await send(ada, 'POST', '/api/sync/hashes', { files }), { status: 400 })
  }
  const writing = await withToken(node, ada, ['files:write'])
  t.match(await send(writing, 'POST', '/api/sync/hashes', { files: [file] }), { status: 403 })
  const reading = await withToken(node, ada, ['files:read'])
  t.match(await send(reading, 'POST', '/api/sync/hashes', { files: [file] }), { status: 200 })
})

test('a user has four requests for hashes at a time, and no more', async (t) => {
  const shaky = createShakyStorage()
  const node = await createSyncNode({
    plugins: [shaky.plugin],
    config: { plugins: { 'storage-memory': true }, storage: { mounts: { '/cold': 'shaky' } } },
  })
  t.teardown(() => node.stop())
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  const files = [{ path: '/cold/a', revision: await put(ada, '/cold/a', 'x') }]
  const hers = [{ path: '/b', revision: await put(grace, '/b', 'x') }]
  const release = shaky.holdReads()
  const asked = Array.from({ length: 5 }, () => send(ada, 'POST', '/api/sync/hashes', { files }))
  t.match(await Promise.race(asked), { status: 429 }, 'the fifth is refused while the others wait')
  t.match(await send(grace, 'POST', '/api/sync/hashes', { files: hers }), { status: 200 }, 'others go on')
  release()
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  t.same(statuses.sort(), [200, 200, 200, 200, 429])
})

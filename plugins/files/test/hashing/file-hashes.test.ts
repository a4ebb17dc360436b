import { createHash, randomBytes } from 'node:crypto'
import { appendFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'

const sha256Of = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function* contentOf(bytes: string | Uint8Array) {
  yield Buffer.from(bytes)
}

const services = captureServices()
// The least that is allowed: files of some MiB take seconds in the background.
const node = await createFilesNode({ hashedBytesPerSecond: '1MiB' }, { plugins: [services.plugin] })
t.teardown(() => node.stop())

test('a hash that was asked for is known to all readers of the file in this revision', async (t) => {
  const { user } = await node.signIn()
  const [files, index] = [services.files.for(user), services.index.for(user)]
  for (const [path, bytes] of Object.entries({ '/small': Buffer.from('x'), '/large': randomBytes(3e6) })) {
    const { revision } = await files.write(path, contentOf(bytes))
    t.equal((await files.stat(path)).sha256, undefined)
    t.equal(await index.hash(path, { revision: 'another' }), null)
    const hash = { revision, size: bytes.length, sha256: sha256Of(bytes) }
    t.strictSame(await index.hash(path), hash)
    t.equal((await files.stat(path)).sha256, hash.sha256)
    t.match(await index.withContent(hash.sha256), [{ path, revision }])
    t.match((await services.recorded(user.uuid)).at(-1), { path, revision, hash: hash.sha256 })
  }
  await files.write('/small', contentOf('other'))
  t.equal((await files.stat('/small')).sha256, undefined, 'other bytes have no hash yet')
  t.match((await services.recorded(user.uuid))[0], { path: '/small', hash: undefined })
  for (const path of ['/', '/missing']) t.equal(await index.hash(path), null, path)
  await t.rejects(index.hash('no path'), { code: 'VALIDATION_ERROR' })
})

test('a writer that has compared the bytes tells their hash, which the revision keeps', async (t) => {
  const { user } = await node.signIn()
  const [files, index] = [services.files.for(user), services.index.for(user)]
  const sha256 = sha256Of('x')
  const { revision } = await files.write('/a', contentOf('x'), { sha256 })
  t.match(await index.withContent(sha256), [{ path: '/a' }])
  await t.rejects(files.write('/b', contentOf('x'), { sha256: 'x' }), { code: 'VALIDATION_ERROR' })
  for (const given of ['another', revision])
    await index.setHash('/a', { revision: given, size: 1, sha256: sha256Of('y') })
  t.equal((await files.stat('/a')).sha256, sha256)
  const file = join(node.dataFolder, 'files', user.uuid, 'a')
  const { atime, mtime } = await stat(file)
  await writeFile(file, 'y', { flag: 'r+' })
  await utimes(file, atime, mtime)
  t.match(await index.hash('/a', { isFresh: true }), { revision, sha256: sha256Of('y') })
  t.equal((await files.stat('/a')).sha256, sha256, 'damage does not change what the file should have')
  t.match(await files.write('/a', contentOf('y')), { size: 1 })
  t.match(await index.hash('/a'), { sha256: sha256Of('y') })
})

test('files of a followed user are hashed in the background, and nobody who asks waits for that', async (t) => {
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  const index = services.index.for(ada.user)
  const large = randomBytes(4 * 1024 * 1024)
  const isKnown = async (bytes: string | Uint8Array) => (await index.withContent(sha256Of(bytes))).length > 0
  const untilKnown = async (bytes: string | Uint8Array) => {
    while (!(await isKnown(bytes))) await delay(50)
  }
  await services.files.for(ada.user).write('/from before', contentOf('before'))
  await services.files.for(grace.user).write('/unfollowed', contentOf('unfollowed'))
  await services.changes.follow(ada.user.uuid)
  await untilKnown('before')
  await services.files.for(ada.user).write('/first', contentOf('first'))
  await services.files.for(ada.user).write('/large', contentOf(large))
  await services.files.for(ada.user).write('/later', contentOf('later'))
  // The large file comes next, and takes four seconds.
  await untilKnown('first')
  t.match(await index.hash('/later'), { sha256: sha256Of('later') })
  t.notOk(await isKnown(large), 'what was asked for comes first')
  await untilKnown(large)
  await appendFile(join(node.dataFolder, 'files', ada.user.uuid, 'later'), ' than before')
  await untilKnown('later than before')
  t.strictSame(await services.index.for(grace.user).withContent(sha256Of('unfollowed')), [])
})

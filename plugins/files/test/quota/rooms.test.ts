import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import fc from 'fast-check'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, post, put } from '../fixtures/files-node.ts'
import { createKeptNode } from '../fixtures/kept-node.ts'
import { createNodeWithTwoMounts } from '../fixtures/two-mounts.ts'

type Quota = NonNullable<NodeAnswers['GET /api/files/usage']['quota']>

const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const numRuns = Number(process.env.TEST_RUNS ?? 10)

/** Deleted files and overwritten contents are gone. */
const nothingKept = { trash: false, versions: false }

async function usage(user: TestUser) {
  const { bytes, quota } = (await (
    await user.fetch('/api/files/usage')
  ).json()) as NodeAnswers['GET /api/files/usage']
  return { bytes, quota: quota as Quota }
}

async function setQuota(owner: TestUser, { user }: TestUser, quota: number | string) {
  const answer = await owner.fetch(`/api/files/quotas/${user.uuid}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ quota }),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as NodeAnswers['PUT /api/files/quotas/{uuid}']
}

/** Sends bytes without their number, in two pieces. */
function putUnknown(user: TestUser, path: string, size: number) {
  const half = Math.floor(size / 2)
  const pieces = [Buffer.alloc(half), Buffer.alloc(size - half)].filter(({ length }) => length > 0)
  return put(user, path, Readable.toWeb(Readable.from(pieces)) as unknown as ReadableStream)
}

/** Content that ends with a failure. */
async function* broken(size: number) {
  yield Buffer.alloc(size)
  throw new Error('The client is gone.')
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer
  await body?.cancel()
  return status
}

t.test('of 64 uploads at the edge of a quota, exactly those succeed that fit', async (t) => {
  const node = await createFilesNode({ quota: '10000 B', ...nothingKept })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const uploads = Array.from({ length: 64 }, (_, i) => statusOf(put(ada, `/${i}`, Buffer.alloc(1000))))
  const statuses = await Promise.all(uploads)
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 507).length, 54)
  t.match(await usage(ada), { bytes: 10_000, quota: { bytes: 10_000, taken: 10_000 } })

  const refused = await put(ada, '/more', 'x')
  t.equal(refused.status, 507)
  t.match(await refused.json(), {
    code: 'INSUFFICIENT_STORAGE',
    message:
      /may store 10 kB, and your files, with the trash and former versions, take 10 kB.*no room for 1 B more.*Delete files for good, empty the trash, or ask the owner/,
  })
  t.equal(await statusOf(put(ada, '/empty', '')), 200, 'an empty file takes nothing')
  const first = statuses.indexOf(200)
  t.equal(await statusOf(post(ada, 'delete', { path: `/${first}` })), 200)
  t.equal(await statusOf(put(ada, '/again', Buffer.alloc(1000))), 200, 'room that was given back')
  const bob = await node.signIn()
  t.equal(await statusOf(put(bob, '/own', Buffer.alloc(10_000))), 200, 'each user has a quota')
  t.equal(await statusOf(putUnknown(bob, '/more', 2)), 507)
})

t.test(
  'no mixture of uploads, copies, moves, deletions and failures passes a quota or leaves bytes counted',
  async (t) => {
    const { node, ada: owner, services, shaky } = await createNodeWithTwoMounts(t, nothingKept)
    const admin = owner.user.owner ? owner : await node.signIn('owner')
    const names = ['/a', '/b', '/c/d', '/cold/a', '/cold/b']
    const path = fc.constantFrom(...names)
    const size = fc.integer({ min: 0, max: 400 })
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom('known' as const, 'unknown' as const, 'broken' as const),
          path,
          size,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constantFrom('copy' as const, 'move' as const), path, to: path }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'lost' as const), path, size }),
      },
    )
    const sequence = fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 16 }), { minLength: 1, maxLength: 4 }),
      async (rounds) => {
        const quota = 1000
        const user = await node.signIn()
        await setQuota(admin, user, quota)
        const files = services.files.for(user.user)
        for (const round of rounds) {
          const steps = round.map(async (each) => {
            if ('to' in each) {
              const body = { source: each.path, destination: each.to, overwrite: true }
              return statusOf(post(user, each.kind === 'copy' ? 'api/files/copy' : 'move', body))
            }
            if (each.kind === 'known') return statusOf(put(user, each.path, Buffer.alloc(each.size)))
            if (each.kind === 'unknown') return statusOf(putUnknown(user, each.path, each.size))
            if (each.kind === 'delete') return statusOf(post(user, 'delete', { path: each.path }))
            if (each.kind === 'broken') return files.write(each.path, broken(each.size)).catch(() => {})
            // The storage fails although it has stored the file.
            shaky.afterChange = (change) => {
              shaky.afterChange = () => {}
              if (change === 'write') throw new Error('The answer is lost.')
            }
            return statusOf(put(user, '/cold/lost', Buffer.alloc(each.size)))
          })
          const ended = Promise.all(steps)
          let isOver = false
          ended.finally(() => {
            isOver = true
          })
          for (; !isOver; await setImmediate()) {
            const { bytes } = await services.index.for(user.user).usage()
            if (bytes > quota) throw new Error(`${bytes} bytes are stored.`)
          }
          await ended
        }
        shaky.afterChange = () => {}
        const { bytes } = await services.index.for(user.user).usage()
        const left = quota - bytes
        const counted = (await usage(user)).quota.taken
        if (counted !== bytes) throw new Error(`${counted} bytes are counted, ${bytes} are stored.`)
        const tooLarge = await statusOf(put(user, '/last', Buffer.alloc(left + 1)))
        const fits = await statusOf(putUnknown(user, '/last', left))
        if (tooLarge !== 507 || fits !== 200) throw new Error(`${tooLarge}, ${fits}`)
      },
    )
    await fc.assert(sequence, { numRuns, seed })
  },
)

t.test(
  'a copy of a folder that does not fit is refused before anything is copied, and one that fits is complete',
  async (t) => {
    const { node, ada, tree, copy, move } = await createNodeWithTwoMounts(t)
    const owner = await node.signIn('owner')
    for (let i = 0; i < 20; i += 1) await put(ada, `/folder/${i}`, Buffer.alloc(50))
    await setQuota(owner, ada, 1999)
    t.match(await copy('/folder', '/copy'), { status: 507, message: /1 kB more/ })
    t.match(await move('/folder', '/cold/folder'), { status: 507 }, 'both are there for a moment')
    t.notOk((await tree()).has('/copy'))
    t.match((await usage(ada)).quota, { taken: 1000 })
    t.match(await move('/folder', '/moved'), { status: 200 }, 'a rename takes nothing')
    await setQuota(owner, ada, '2 kB')
    t.match(await copy('/moved', '/copy'), { status: 200 })
    t.match((await usage(ada)).quota, { taken: 2000 })
    t.match(await copy('/copy/0', '/one'), { status: 507 })
    await setQuota(owner, ada, 100)
    t.match(await usage(ada), { bytes: 2000, quota: { bytes: 100, taken: 2000 } }, 'nothing is deleted')
    t.equal(await statusOf(post(ada, 'delete', { path: '/copy' })), 200)
  },
)

t.test('a copy without room replaces nothing on a storage without a step for folders', async (t) => {
  for (const kind of ['moves', 'copies'] as const) {
    const { newUser } = await createKeptNode(t, kind, { quota: 1000 })
    const { ada, trashed } = await newUser()
    await put(ada, '/folder/file', Buffer.alloc(600))
    await put(ada, '/other/file', 'other')
    for (const destination of ['/other', '/new/copy']) {
      const body = { source: '/folder', destination, overwrite: true }
      t.equal(await statusOf(post(ada, 'api/files/copy', body)), 507, kind)
    }
    t.equal(await (await ada.fetch('/read?path=/other/file')).text(), 'other')
    t.strictSame(await trashed(), [])
    t.equal(await statusOf(ada.fetch('/stat?path=/new')), 404, 'no folder was made')
  }
})

t.test('room that another plugin holds counts, and a file takes its bytes from it', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({ quota: 1000 }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const { files } = services
  const room = files.holdRoom(ada.user)
  await room.extend(600)
  await t.rejects(room.extend(401), { code: 'INSUFFICIENT_STORAGE', reason: 'quota-not-exceeded' })
  t.equal(room.bytes, 600)
  t.equal(await statusOf(put(ada, '/other', Buffer.alloc(401))), 507)
  t.match((await usage(ada)).quota, { taken: 600 })
  const content = Readable.from([Buffer.alloc(900)])
  await files.for(ada.user).write('/file', content, { room, size: 900 })
  t.match(await usage(ada), { bytes: 900, quota: { taken: 900 } })
  t.equal(room.bytes, 0)
  await t.rejects(
    files.for(ada.user).write('/more', Readable.from([Buffer.alloc(200)]), { room, size: 200 }),
    { code: 'INSUFFICIENT_STORAGE' },
  )
  files.holdRoom(ada.user, 300)
  t.match((await usage(ada)).quota, { taken: 1200 }, 'what is stored already is not refused')
  room.release()
  await t.rejects(files.for(ada.user).write('/x', Readable.from([]), { room: {} as never }), TypeError)
})

t.test('a write counts once while its outcome is not known, and after the storage has told it', async (t) => {
  const { node, ada, shaky } = await createNodeWithTwoMounts(t)
  await setQuota(await node.signIn('owner'), ada, 1000)
  shaky.afterChange = () => {
    shaky.isReachable = false
    throw new Error('The storage is gone.')
  }
  t.equal(await statusOf(put(ada, '/cold/file', Buffer.alloc(600))), 500)
  t.match(await usage(ada), { bytes: 0, quota: { taken: 600 } })
  t.equal(await statusOf(put(ada, '/other', Buffer.alloc(401))), 507)
  shaky.afterChange = () => {}
  shaky.isReachable = true
  t.equal(await statusOf(put(ada, '/cold/file', Buffer.alloc(401))), 507, 'both contents need room')
  t.equal(await statusOf(put(ada, '/cold/file', Buffer.alloc(400))), 200)
  t.match(await usage(ada), { bytes: 400, quota: { taken: 400 } })
})

t.test('deleted files and former contents count as long as they are kept', async (t) => {
  const node = await createFilesNode({ quota: 1000 })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.equal(await statusOf(put(ada, '/file', Buffer.alloc(300))), 200)
  t.equal(await statusOf(put(ada, '/file', Buffer.alloc(200))), 200)
  t.match(await usage(ada), { bytes: 200, quota: { taken: 500 } })
  t.equal(await statusOf(post(ada, 'delete', { path: '/file' })), 200)
  t.match(await usage(ada), { bytes: 0, quota: { taken: 500 } })
  t.equal(await statusOf(put(ada, '/more', Buffer.alloc(501))), 507)
  t.equal(await statusOf(put(ada, '/more', Buffer.alloc(500))), 200)
})

t.test('what is deleted for good takes no room from then on, with the versions of its files', async (t) => {
  const node = await createFilesNode({ quota: 1000 })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const fill = async () => {
    for (const path of ['/folder/deep/a', '/b'])
      for (const size of [150, 150]) await put(ada, path, Buffer.alloc(size))
    await put(ada, '/kept', Buffer.alloc(10))
    await put(ada, '/kept', Buffer.alloc(10))
    t.match(await usage(ada), { quota: { taken: 620 } })
  }
  const deleteAll = async (permanent: boolean) => {
    for (const path of ['/folder', '/b'])
      t.equal(await statusOf(post(ada, 'delete', { path, permanent })), 200)
  }
  const taken = async () => (await usage(ada)).quota.taken
  await fill()
  await deleteAll(true)
  t.equal(await taken(), 20, 'a version of a file that is still there stays')
  await statusOf(post(ada, 'delete', { path: '/kept', permanent: true }))
  await fill()
  await deleteAll(false)
  t.equal(await taken(), 620)
  const { items } = (await (
    await ada.fetch('/api/files/trash')
  ).json()) as NodeAnswers['GET /api/files/trash']
  for (const { id } of items) await statusOf(post(ada, 'api/files/trash/delete', { id }))
  t.equal(await taken(), 20)
  await statusOf(post(ada, 'delete', { path: '/kept', permanent: true }))
  await fill()
  await deleteAll(false)
  await statusOf(post(ada, 'api/files/trash/empty', {}))
  t.equal(await taken(), 20)
})

t.test('other plugins learn how much room a user has left in a folder', async (t) => {
  const services = captureServices()
  const mounts = { '/': 'local', '/m': 'memory' }
  const node = await createFilesNode({ mounts, ...nothingKept }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const [owner, ada] = [await node.signIn('owner'), await node.signIn()]
  await put(ada, '/a', 'x'.repeat(1000))
  const { files } = services
  const onDisk = await files.roomAt(ada.user, '/')
  t.equal(onDisk.taken, 1000)
  t.ok(Number(onDisk.left) > 1000, 'the disk bounds it')
  t.strictSame(await files.roomAt(ada.user, '/m'), { taken: 1000, left: null }, 'a storage without a disk')
  await setQuota(owner, ada, 5000)
  t.strictSame(await files.roomAt(ada.user, '/'), { taken: 1000, left: 4000 })
  await setQuota(owner, ada, 500)
  t.strictSame(await files.roomAt(ada.user, '/m'), { taken: 1000, left: 0 })
  await t.rejects(files.roomAt(ada.user, 'a'), { code: 'VALIDATION_ERROR' })
})

import { rmdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, contentsOf, folderInMemory, leftovers } from '../fixtures/storage-folder.ts'

/** Opens a backend beside another program that removes the folder `/new` as soon as it is made, a number of times. */
async function withRemovals(t: Test, times: number) {
  const root = folderInMemory(t)
  let remaining = times
  const disk: Disk = {
    ...localDisk,
    async mkdir(path) {
      await localDisk.mkdir(path)
      if (!path.endsWith('/new') || remaining === 0) return
      remaining -= 1
      rmdirSync(join(root, 'new'))
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  return { root, backend }
}

t.test('a change makes its parents again if another program removes them', async (t) => {
  const { root, backend } = await withRemovals(t, 3)
  let calls = 0
  const beforeCommit = async () => {
    calls += 1
  }
  await backend.write('/new/inner/file', chunks('x'), { beforeCommit })
  t.equal(calls, 1)
  t.strictSame(contentsOf(root), { '/new': null, '/new/inner': null, '/new/inner/file': 'x' })
})

t.test('a change ends with an error if its parents are removed again and again', async (t) => {
  const { root, backend } = await withRemovals(t, Number.POSITIVE_INFINITY)
  await backend.write('/file', chunks('x'))
  const unavailable = { code: 'SERVICE_UNAVAILABLE', message: /Try again/ }
  await t.rejects(backend.write('/new/inner/file', chunks('x')), unavailable)
  await t.rejects(backend.makeDirectory('/new/inner'), unavailable)
  await t.rejects(async () => backend.move?.('/file', '/new/inner/file'), unavailable)
  t.strictSame(contentsOf(root), { '/file': 'x' })
  t.strictSame(leftovers(root), [])
})

t.test('a change that is refused makes no parents', async (t) => {
  const { root, backend } = await withRemovals(t, 0)
  const beforeCommit = () => Promise.reject(new Error('refused'))
  await t.rejects(backend.write('/new/inner/file', chunks('x'), { beforeCommit }), { message: 'refused' })
  await t.rejects(backend.write('/new/file', chunks('x'), { ifRevision: 'x' }), {
    code: 'PRECONDITION_FAILED',
  })
  await t.rejects(async () => backend.move?.('/none', '/new/file'), { code: 'NOT_FOUND' })
  t.strictSame(contentsOf(root), {})
})

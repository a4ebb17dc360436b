import assert from 'node:assert/strict'
import type { StorageStaged } from '../../contracts/storage.ts'
import { assertFails, assertFailsWith } from '../failures.ts'
import { assertAbsent, isAbsent, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

export function committingChecks(check: BackendCheck): void {
  check(
    '`beforeCommit` is called once, with the revision and size of the file, while the file is not visible yet',
    async (backend) => {
      await put(backend, '/old', 'before')
      for (const [path, bytes] of [
        ['/old', pattern(100_000)],
        ['/new/file', pattern(2_500_000)],
        ['/empty', pattern(0)],
      ] as const) {
        const seen: Pick<StorageStaged, 'revision' | 'size'>[] = []
        const entry = await backend.write(path, stream(bytes), {
          async beforeCommit(staged) {
            seen.push({ revision: staged.revision, size: staged.size })
            if (path === '/old') assert.equal(await text(backend, path), 'before')
            else assert.ok(await isAbsent(backend, path), `${path} is visible too early`)
          },
        })
        assert.deepEqual(
          seen,
          [{ revision: entry.revision, size: bytes.length }],
          'called once, with the revision and size that the file gets',
        )
        assert.equal((await backend.stat(path)).revision, entry.revision)
      }
    },
  )

  check('`beforeCommit` is told which file will be replaced', async (backend) => {
    await put(backend, '/folder/other', 'another file')
    await put(backend, '/folder/file', 'first')
    for (const path of ['/folder/file', '/folder/new', '/new/file', '/folder/file', '/new/file']) {
      const before = await backend.stat(path).catch(() => null)
      await backend.write(path, stream(`over ${before?.revision}`), {
        async beforeCommit({ replaced }) {
          assert.deepEqual(replaced, before, `the file that ${path} replaces`)
        },
      })
    }
  })

  check('a write ends without effect when `beforeCommit` rejects', async (backend) => {
    await put(backend, '/file', 'kept')
    const fault = new Error('the journal is full')
    const beforeCommit = () => Promise.reject(fault)
    for (const path of ['/file', '/absent']) {
      for (const bytes of [pattern(0), pattern(10), pattern(2_500_000)]) {
        const attempt = backend.write(path, stream(bytes), { beforeCommit })
        await assertFailsWith(attempt, fault, 'a write that was not committed')
      }
    }
    await assert.rejects(backend.write('/new/folder/file', stream('x'), { beforeCommit }))
    assert.equal(await text(backend, '/file'), 'kept')
    assert.deepEqual(await names(backend, '/'), ['file'])
  })

  check('a write that fails earlier never calls `beforeCommit`', async (backend) => {
    let calls = 0
    const beforeCommit = async () => {
      calls += 1
    }
    async function* broken() {
      yield pattern(10)
      throw new Error('the source broke')
    }
    await put(backend, '/folder/file', 'kept')
    const signal = AbortSignal.abort()
    await Promise.allSettled([
      backend.write('/absent', broken(), { beforeCommit }),
      backend.write('/absent', stream('x'), { beforeCommit, signal }),
      backend.write('/absent', stream('x'), { beforeCommit, size: 2 }),
    ])
    assert.equal(calls, 0)
    await assertAbsent(backend, '/absent')
  })

  check(
    'an abort during `beforeCommit` leaves the old file or the new one, as the write tells',
    async (backend) => {
      await put(backend, '/file', 'old')
      const controller = new AbortController()
      const outcome = await backend
        .write('/file', stream('new'), {
          signal: controller.signal,
          async beforeCommit() {
            controller.abort()
          },
        })
        .then(
          () => 'new',
          () => 'old',
        )
      assert.equal(await text(backend, '/file'), outcome)
    },
  )

  check('conditions are checked at the last step, not only at the first', async (backend) => {
    const { revision } = await put(backend, '/file', 'first')
    const overtaken = backend.write('/file', overtake('/file'), { ifRevision: revision })
    await assertFails(overtaken, ['PRECONDITION_FAILED'], 'a write after another write')
    assert.equal(await text(backend, '/file'), 'overtaking')
    const filled = backend.write('/path', overtake('/path'), { ifAbsent: true })
    await assertFails(filled, ['PRECONDITION_FAILED'], 'a write to a path that was taken')
    assert.equal(await text(backend, '/path'), 'overtaking')

    async function* overtake(path: string) {
      yield pattern(10)
      await put(backend, path, 'overtaking')
      yield pattern(10)
    }
  })
}

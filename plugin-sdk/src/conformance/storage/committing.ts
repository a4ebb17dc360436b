import assert from 'node:assert/strict'
import type { StorageStaged } from '../../contracts/storage.ts'
import { assertAbsent, assertFails, isAbsent, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

export function committingChecks(check: BackendCheck): void {
  check(
    'before the last step of a write its revision and size are known and nothing shows',
    async (backend) => {
      await put(backend, '/old', 'before')
      for (const [path, bytes] of [
        ['/old', pattern(100_000)],
        ['/new/file', pattern(2_500_000)],
        ['/empty', pattern(0)],
      ] as const) {
        const seen: StorageStaged[] = []
        const entry = await backend.write(path, stream(bytes), {
          async beforeCommit(staged) {
            seen.push({ revision: staged.revision, size: staged.size })
            if (path === '/old') assert.equal(await text(backend, path), 'before')
            else assert.ok(await isAbsent(backend, path), `${path} shows too early`)
          },
        })
        assert.deepEqual(
          seen,
          [{ revision: entry.revision, size: bytes.length }],
          'called once, with the truth',
        )
        assert.equal((await backend.stat(path)).revision, entry.revision)
      }
    },
  )

  check('what a write says that it will replace is what is there', async (backend) => {
    await put(backend, '/folder/other', 'another file')
    await put(backend, '/folder/file', 'first')
    for (const path of ['/folder/file', '/folder/new', '/new/file', '/folder/file', '/new/file']) {
      const before = await backend.stat(path).catch(() => null)
      await backend.write(path, stream(`over ${before?.revision}`), {
        async beforeCommit({ replaced }) {
          // A backend that would have to look leaves it out.
          if (replaced !== undefined) assert.deepEqual(replaced, before, `what ${path} replaces`)
        },
      })
    }
  })

  check('a write is given up when it is refused before its last step', async (backend) => {
    await put(backend, '/file', 'kept')
    const fault = new Error('the journal is full')
    const beforeCommit = () => Promise.reject(fault)
    for (const path of ['/file', '/absent']) {
      for (const bytes of [pattern(0), pattern(10), pattern(2_500_000)]) {
        const attempt = backend.write(path, stream(bytes), { beforeCommit })
        await assert.rejects(attempt, (thrown) => thrown === fault, 'the refusal comes through as it was')
      }
    }
    assert.equal(await text(backend, '/file'), 'kept')
    assert.deepEqual(await names(backend, '/'), ['file'])
  })

  check('a write that fails for another reason never reaches its last step', async (backend) => {
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

  check('an abort before the last step ends in one state or the other', async (backend) => {
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
  })

  check('conditions hold at the last step, not only at the first', async (backend) => {
    const { revision } = await put(backend, '/file', 'first')
    const overtaken = backend.write('/file', overtake('/file'), { ifRevision: revision })
    await assertFails(overtaken, ['PRECONDITION_FAILED'], 'a write that was overtaken')
    assert.equal(await text(backend, '/file'), 'overtaking')
    const filled = backend.write('/place', overtake('/place'), { ifAbsent: true })
    await assertFails(filled, ['PRECONDITION_FAILED'], 'a write whose place was taken')
    assert.equal(await text(backend, '/place'), 'overtaking')

    async function* overtake(path: string) {
      yield pattern(10)
      await put(backend, path, 'overtaking')
      yield pattern(10)
    }
  })
}

import assert from 'node:assert/strict'
import { isNodekeepError } from '../../errors.ts'
import { assertFails } from '../failures.ts'
import { assertContent, names } from './assertions.ts'
import { pattern, silentStream, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

/** Tests of what a backend tells about its room. */
export function spaceChecks(check: BackendCheck): void {
  check('the room of a storage is told in bytes, and holds what is stored', async (backend, skip) => {
    if (backend.space === undefined) return skip('The backend does not tell its room.')
    const { signal } = new AbortController()
    const content = pattern(100_000)
    await backend.write('/file', stream(content))
    const space = await backend.space(signal)
    if (space === null) return skip('The storage cannot tell its room here.')
    const { free, total } = space
    for (const bytes of [free, total])
      assert.ok(Number.isSafeInteger(bytes) && bytes >= 0, 'a number of bytes')
    assert.ok(free <= total - content.length, 'what is stored is not free')
    await backend.close()
    await assertFails(backend.space(signal), ['SERVICE_UNAVAILABLE'], 'a closed backend')
  })
}

/** Tests for backends that can be limited to 1 MiB. */
export function freeSpaceChecks(check: BackendCheck): void {
  check(
    'a write that does not fit is refused and leaves nothing, and a removal frees its bytes',
    async (backend) => {
      const half = pattern(600_000)
      await backend.write('/first', stream(half))
      await assertFails(
        backend.write('/second', stream(half)),
        ['INSUFFICIENT_STORAGE'],
        'a write that does not fit',
      )
      const announced = backend.write('/second', stream(pattern(2_000_000)), { size: 2_000_000 })
      await assertFails(announced, ['INSUFFICIENT_STORAGE'], 'an announced write that cannot fit')
      assert.deepEqual(await names(backend, '/'), ['first'])
      await assertContent(backend, '/first', half)
      await backend.remove('/first')
      await backend.write('/second', stream(half))
      await assertContent(backend, '/second', half)
    },
  )

  check('writes that fail leave no bytes behind', async (backend) => {
    const half = pattern(600_000)
    const fault = new Error('the write fails')
    async function* broken() {
      yield* stream(half)
      throw fault
    }
    for (let round = 0; round < 4; round += 1) {
      const { content, silent } = silentStream(half)
      const controller = new AbortController()
      const aborted = backend.write('/aborted', content, { signal: controller.signal })
      aborted.catch(() => {})
      await Promise.race([silent, aborted])
      controller.abort(fault)
      const attempts = [
        () => aborted,
        () => backend.write('/broken', broken()),
        () => backend.write('/short', stream(half), { size: half.length + 1 }),
        () => backend.write('/refused', stream(half), { beforeCommit: () => Promise.reject(fault) }),
      ]
      for (const attempt of attempts) {
        const thrown = await attempt().then(
          () => assert.fail('the write succeeded'),
          (error: unknown) => error,
        )
        assert.ok(
          !isNodekeepError(thrown) || thrown.code !== 'INSUFFICIENT_STORAGE',
          'the bytes of an earlier write were left behind',
        )
      }
    }
    await backend.write('/file', stream(half))
    await assertContent(backend, '/file', half)
  })

  check('overwriting a file frees its old bytes', async (backend) => {
    for (let round = 0; round < 6; round += 1)
      await backend.write('/file', stream(pattern(300_000, round + 1)))
    await assertContent(backend, '/file', pattern(300_000, 6))
  })
}

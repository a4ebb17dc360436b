import assert from 'node:assert/strict'
import { assertContent, assertFails, names } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

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
}

import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { replaceMethod } from '../../src/http/replace-method.ts'

test('an object whose method was replaced does not grow old', (t) => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  // Objects of earlier tests must not grow old meanwhile.
  gc()
  const before = oldBytes()
  let sum = 0
  for (let at = 0; at < 1000; at += 1) {
    const request = { bytes: new Array(5000).fill(at), size: () => 0 }
    replaceMethod(request, 'size', () => request.bytes.length)
    sum += request.size()
    if (at % 50 === 0) gc({ type: 'minor' })
  }
  for (let at = 0; at < 3; at += 1) gc({ type: 'minor' })
  t.equal(sum, 5_000_000)
  // Kept, they would be 40 MB.
  t.ok(oldBytes() - before < 10_000_000)
  t.end()
})

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0
}

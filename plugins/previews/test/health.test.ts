import { test } from 'tap'
import { previewsHealth } from '../src/health.ts'

test('the health tells whether pictures can be decoded', async (t) => {
  const { signal } = new AbortController()
  t.strictSame(await previewsHealth({ problem: null }).check(signal), { ok: true, state: 'available' })
  t.match(await previewsHealth({ problem: 'The sandbox ended.' }).check(signal), {
    ok: false,
    state: 'unavailable',
    message: 'Pictures cannot be decoded: The sandbox ended. The log of the node tells more.',
  })
})

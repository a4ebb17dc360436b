import { test } from 'tap'
import { searchHealth } from '../src/health.ts'

test('the health tells whether files, and their words, can be added', async (t) => {
  const { signal } = new AbortController()
  const [well, ill] = [{ problem: null }, { problem: 'The disk is full.' }]
  t.strictSame(await searchHealth(well, well).check(signal), { ok: true, state: 'available' })
  t.strictSame(await searchHealth(well, ill).check(signal), {
    ok: false,
    state: 'unavailable',
    message:
      'The words of new files cannot be found now: The disk is full. It is tried again within minutes.',
  })
  t.match(await searchHealth(ill, ill).check(signal), {
    message: /^New files cannot be found now: The disk is full\./,
  })
})

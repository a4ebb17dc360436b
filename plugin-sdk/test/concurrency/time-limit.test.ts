import { withTimeLimit } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

const never = new Promise<never>(() => {})

test('Work within the limit returns its result or its error', async (t) => {
  t.equal(await withTimeLimit(Promise.resolve(1), 60_000, 'too late'), 1)
  t.equal(await withTimeLimit(2, 60_000, 'too late'), 2)
  await t.rejects(withTimeLimit(Promise.reject(new Error('broken')), 60_000, 'too late'), {
    message: 'broken',
  })
})

test('A reached limit throws the given error', async (t) => {
  await t.rejects(withTimeLimit(never, 1, 'too late'), { message: 'too late' })
  const late = new RangeError('too late')
  t.equal(await withTimeLimit(never, 1, late).catch((error) => error), late)
})

test('A signal ends the wait with its reason, even if it was aborted before', async (t) => {
  const controller = new AbortController()
  const waiting = withTimeLimit(never, 60_000, 'too late', controller.signal)
  controller.abort(new Error('no longer needed'))
  await t.rejects(waiting, { message: 'no longer needed' })
  await t.rejects(withTimeLimit(never, 60_000, 'too late', controller.signal), {
    message: 'no longer needed',
  })
})

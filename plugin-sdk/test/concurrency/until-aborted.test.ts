import { untilAborted } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

const never = new Promise<never>(() => {})

test('work gives its result or its error while nothing aborts', async (t) => {
  const { signal } = new AbortController()
  t.equal(await untilAborted(Promise.resolve(1), signal), 1)
  await t.rejects(untilAborted(Promise.reject(new Error('broken')), signal), { message: 'broken' })
})

test('an abort ends the wait with its reason, also an earlier one', async (t) => {
  const controller = new AbortController()
  const waiting = untilAborted(never, controller.signal)
  controller.abort(new Error('no longer needed'))
  await t.rejects(waiting, { message: 'no longer needed' })
  await t.rejects(untilAborted(never, controller.signal), { message: 'no longer needed' })
})

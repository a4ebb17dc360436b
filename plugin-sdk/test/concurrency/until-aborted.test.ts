import { bytesUntilAborted, untilAborted } from '@nodekeep/plugin-sdk'
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

test('bytes are passed on until an abort, although no more of them come', async (t) => {
  const bytes = new Uint8Array([1, 2])
  const controller = new AbortController()
  const content = async function* () {
    yield bytes
    await never
  }
  const passed = bytesUntilAborted(content(), controller.signal)
  t.same(await passed.next(), { done: false, value: bytes })
  const waiting = passed.next()
  controller.abort(new Error('no longer needed'))
  await t.rejects(waiting, { message: 'no longer needed' })
})

test('the end and the error of a content are passed on', async (t) => {
  const { signal } = new AbortController()
  const content = async function* (error?: Error) {
    yield new Uint8Array(1)
    if (error !== undefined) throw error
  }
  t.equal((await Array.fromAsync(bytesUntilAborted(content(), signal))).length, 1)
  const broken = bytesUntilAborted(content(new Error('broken')), signal)
  await t.rejects(Array.fromAsync(broken), { message: 'broken' })
})

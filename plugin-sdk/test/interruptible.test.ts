import { getEventListeners } from 'node:events'
import { interruptible } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** Returns a source that yields items and then stays silent. `returned` resolves when its `return` is called. */
function silentAfter(...items: number[]) {
  const returned = Promise.withResolvers<void>()
  const never = new Promise<IteratorResult<number>>(() => {})
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        const value = items.shift()
        return value === undefined ? never : Promise.resolve({ done: false, value })
      },
      async return() {
        returned.resolve()
        return { done: true, value: undefined }
      },
    }),
  }
  return { source, returned: returned.promise }
}

async function* counting(fault?: Error): AsyncIterable<number> {
  yield 1
  yield 2
  if (fault !== undefined) throw fault
}

test('Items pass unchanged, with signals and without', async (t) => {
  const { signal } = new AbortController()
  t.strictSame(await Array.fromAsync(interruptible(counting())), [1, 2])
  t.strictSame(await Array.fromAsync(interruptible(counting(), signal, undefined)), [1, 2])
  t.equal(getEventListeners(signal, 'abort').length, 0, 'The signal has no listeners afterwards.')
})

test('An abort of any signal ends the wait for a silent source', async (t) => {
  for (const which of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()]
    const signals = controllers.map(({ signal }) => signal)
    const { source, returned } = silentAfter(1)
    const reason = new Error('enough')
    const seen: number[] = []
    const reading = (async () => {
      for await (const item of interruptible(source, ...signals)) {
        seen.push(item)
        setImmediate(() => controllers[which]?.abort(reason))
      }
    })()
    await t.rejects(reading, reason)
    await returned
    t.strictSame(seen, [1])
    for (const signal of signals) t.equal(getEventListeners(signal, 'abort').length, 0)
  }
})

test('An abort during the work on an item ends the stream before the next item', async (t) => {
  const controller = new AbortController()
  const seen: number[] = []
  const reading = async () => {
    for await (const item of interruptible(counting(), controller.signal)) {
      seen.push(item)
      controller.abort()
    }
  }
  await t.rejects(reading(), { name: 'AbortError' })
  t.strictSame(seen, [1])
})

test('A signal that was aborted before requests no item', async (t) => {
  const { source, returned } = silentAfter()
  await t.rejects(Array.fromAsync(interruptible(source, AbortSignal.abort())), { name: 'AbortError' })
  await returned
})

test('A reader that leaves early ends the source, and failures of the source pass through', async (t) => {
  const { source, returned } = silentAfter(1, 2)
  for await (const _item of interruptible(source)) break
  await returned
  const fault = new Error('the source broke')
  await t.rejects(Array.fromAsync(interruptible(counting(fault))), fault)
})

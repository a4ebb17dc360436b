import { getEventListeners } from 'node:events'
import { interruptible } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** Items, then silence. `left` resolves when the source was told to return. */
function silentAfter(...items: number[]) {
  const left = Promise.withResolvers<void>()
  const never = new Promise<IteratorResult<number>>(() => {})
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        const value = items.shift()
        return value === undefined ? never : Promise.resolve({ done: false, value })
      },
      async return() {
        left.resolve()
        return { done: true, value: undefined }
      },
    }),
  }
  return { source, left: left.promise }
}

async function* counting(fault?: Error): AsyncIterable<number> {
  yield 1
  yield 2
  if (fault !== undefined) throw fault
}

test('items come through as they are, with signals and without', async (t) => {
  const { signal } = new AbortController()
  t.strictSame(await Array.fromAsync(interruptible(counting())), [1, 2])
  t.strictSame(await Array.fromAsync(interruptible(counting(), signal, undefined)), [1, 2])
  t.equal(getEventListeners(signal, 'abort').length, 0, 'nobody listens afterwards')
})

test('an abort ends the waiting for a silent source, by whichever signal', async (t) => {
  for (const which of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()]
    const signals = controllers.map(({ signal }) => signal)
    const { source, left } = silentAfter(1)
    const reason = new Error('enough')
    const seen: number[] = []
    const reading = (async () => {
      for await (const item of interruptible(source, ...signals)) {
        seen.push(item)
        setImmediate(() => controllers[which]?.abort(reason))
      }
    })()
    await t.rejects(reading, reason)
    await left
    t.strictSame(seen, [1])
    for (const signal of signals) t.equal(getEventListeners(signal, 'abort').length, 0)
  }
})

test('an abort while an item is worked on ends it before the next one', async (t) => {
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

test('what was aborted before asks for nothing', async (t) => {
  const { source, left } = silentAfter()
  await t.rejects(Array.fromAsync(interruptible(source, AbortSignal.abort())), { name: 'AbortError' })
  await left
})

test('who leaves early tells the source, and its failures come through', async (t) => {
  const { source, left } = silentAfter(1, 2)
  for await (const _item of interruptible(source)) break
  await left
  const fault = new Error('the source broke')
  await t.rejects(Array.fromAsync(interruptible(counting(fault))), fault)
})

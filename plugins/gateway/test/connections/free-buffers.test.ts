import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { freeBuffers } from '../../src/connections/free-buffers.ts'

const megabyte = 2 ** 20

test('the young generation is collected, once for some megabytes', async (t) => {
  const kinds: number[] = []
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind, flags } = (entry as PerformanceEntry & { detail: { kind: number; flags: number } }).detail
      if (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) kinds.push(kind)
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  t.teardown(() => observer.disconnect())
  for (let at = 0; at < 40; at += 1) freeBuffers(megabyte)
  while (kinds.length < 10) await turn()
  await turn()
  t.equal(kinds.length, 10)
  // If V8 is marking its heap already, it finishes that first.
  const more = kinds.filter((kind) => kind !== constants.NODE_PERFORMANCE_GC_MINOR)
  t.ok(more.length <= 1)
})

test('other code does not get the function that collects', (t) => {
  freeBuffers(4 * megabyte)
  t.equal(runInNewContext('typeof gc'), 'undefined')
  t.end()
})

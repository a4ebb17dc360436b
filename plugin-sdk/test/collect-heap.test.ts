// In a process of its own: it measures the heap.
import { getHeapStatistics } from 'node:v8'
import { collectHeap } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** The memory that V8 has of the system for its heap, in MB. */
const reservedMB = () => getHeapStatistics().total_heap_size / 1e6

test('a collection of the whole heap gives memory back to the system, also that of pages in use', (t) => {
  collectHeap('major')
  const before = reservedMB()
  let objects = Array.from({ length: 500_000 }, (_, n) => ({ n, text: [n] }))
  // Spread over all pages.
  const kept = objects.filter(({ n }) => n % 50 === 0)
  const full = reservedMB()
  objects = []
  collectHeap('major')
  const after = reservedMB()
  t.ok(after - before < (full - before) / 4, `of ${full - before} MB, ${after - before} stay`)
  t.equal(kept.length, 10_000)
  t.end()
})

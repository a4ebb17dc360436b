// In a process of its own: it sets a flag of V8 and measures the heap.
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ChangeGate } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { backendWith } from '../storage/fixtures/paper-driver.ts'

setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

/** Returns the mebibytes by which the heap grows at most while calls run that return 64 KiB each, two at a time. */
async function growthWith(call: (work: () => Promise<unknown>) => Promise<unknown>): Promise<number> {
  collect()
  const before = process.memoryUsage().heapUsed
  let most = before
  let running: Promise<unknown> = Promise.resolve()
  for (let round = 0; round < 1000; round += 1) {
    const next = call(async () => {
      await setImmediate()
      return new Array(8192).fill(round)
    })
    // Objects that are in use during one collection count as old after it.
    if (round % 10 === 0) collect({ type: 'minor' })
    most = Math.max(most, process.memoryUsage().heapUsed)
    await running
    running = next
  }
  await running
  return (most - before) / 2 ** 20
}

t.test('What calls returned is freed without a collection of the whole heap.', async (t) => {
  const gate = new ChangeGate()
  const changes = await growthWith((work) => gate.runShared(work))
  t.ok(changes < 8, `changes kept ${changes.toFixed(0)} MiB`)

  let work: () => Promise<unknown> = async () => {}
  const times = { modified: new Date(), created: new Date() }
  const entry = { name: 'file', type: 'file', size: 1, revision: 'r', ...times } as const
  const backend = backendWith({ stat: async () => Object.assign({ content: await work() }, entry) })
  const calls = await growthWith((next) => {
    work = next
    return backend.stat('/file')
  })
  t.ok(calls < 8, `calls kept ${calls.toFixed(0)} MiB`)
})

import { type Test, test } from 'tap'
import { moduleOf, type NativeStand, nativeStand } from './fixtures/native-stand.ts'
import { processorMs, residentBytes, sandboxesOf } from './fixtures/processes.ts'
import { until } from './fixtures/until.ts'
import { wat } from './fixtures/wat.ts'

const quick =
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'
const hostile = [
  '(module (func (export "f") (loop (br 0))))',
  '(module (func $s (loop (br 0))) (start $s) (func (export "f")))',
  '(module (func $f (export "f") (result i32) (i32.add (i32.const 1) (call $f))))',
  '(module (memory 1) (func (export "f") (loop (drop (memory.grow (i32.const 16))) (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536))) (br 0))))',
  '(module (func (export "f") (unreachable)))',
]

/** 150 calls at once, and how long the one in the middle took. */
async function innocents(t: Test, stand: NativeStand, caller?: string): Promise<number> {
  const times: number[] = []
  const began = performance.now()
  const calls = Array.from({ length: 150 }, async (_, index) => {
    const result = await stand.call(quick, 'add', [index, 1], caller === undefined ? {} : { caller })
    times.push(performance.now() - began)
    return result
  })
  const results = await Promise.all(calls)
  t.strictSame(
    results,
    results.map((_, index) => [index + 1]),
  )
  return times.sort((a, b) => a - b)[times.length >> 1] ?? 0
}

/** The one in the middle of five figures, for a machine has other things to do. */
async function inTheMiddle(figure: () => Promise<number>): Promise<number> {
  const figures: number[] = []
  for (let round = 0; round < 5; round += 1) figures.push(await figure())
  return figures.sort((a, b) => a - b)[2] ?? 0
}

test('200 calls at once, of which a quarter is hostile', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2])
  const alone = await inTheMiddle(() => innocents(t, stand))
  const attacks = Array.from({ length: 50 }, (_, index) =>
    stand.call(hostile[index % hostile.length] ?? '', 'f', [], { timeoutMs: 150 }),
  )
  const outcomes = Promise.allSettled(attacks)
  const crowded = await inTheMiddle(() => innocents(t, stand))
  // A look after what takes long is due every 10 ms, and on a busy machine each wait is for others too.
  t.ok(crowded < alone * 3 + 50, `${crowded.toFixed(1)} ms instead of ${alone.toFixed(1)} ms`)
  t.ok(sandboxesOf().length <= 6, 'there are no more processes than were allowed')
  for (const { status } of await outcomes) t.equal(status, 'rejected')
  let before = Number.NEGATIVE_INFINITY
  let looked = 0
  await until(
    () => {
      const used = sandboxesOf().reduce((sum, pid) => sum + processorMs(pid), 0)
      const since = performance.now() - looked
      if (since < 100) return false
      const calm = used - before < since / 10
      before = used
      looked = performance.now()
      return calm
    },
    'nothing is left running',
    2000,
  )
  await until(() => sandboxesOf().length <= 3, 'the sandboxes that only the crowd needed have ended')
  for (const pid of sandboxesOf()) t.ok(residentBytes(pid) < 128 * 2 ** 20, 'and memory was given back')
  const after = await inTheMiddle(() => innocents(t, stand))
  t.ok(after < alone * 3 + 50, 'all is as it was')
})

/** The module with a custom section of no meaning, so that nobody has seen it yet. */
function unseen(module: Uint8Array, number: number): Uint8Array {
  const [custom, size, lengthOfName] = [0, 3, 0]
  return Buffer.concat([module, Buffer.from([custom, size, lengthOfName, number >> 8, number & 255])])
}

test('beside hostile modules that are looked at first, everybody is answered', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2], { caller: 'ada' })
  const bytes = await Promise.all(hostile.map((text) => wat(text)))
  const attacks = Array.from({ length: 50 }, async (_, index) => {
    const module = moduleOf(unseen(bytes[index % bytes.length] ?? new Uint8Array(), index))
    await stand.exports(module)
    await stand.call(module, 'f', [], { timeoutMs: 150, caller: index % 2 === 0 ? 'eve' : 'mallory' })
  })
  let over = false
  const outcomes = Promise.allSettled(attacks).finally(() => {
    over = true
  })
  while (!over) await innocents(t, stand, 'ada')
  for (const { status } of await outcomes) t.equal(status, 'rejected')
  t.ok(sandboxesOf().length <= 6, 'there are no more processes than were allowed')
})

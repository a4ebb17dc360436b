import { type Test, test } from 'tap'
import { type NativeStand, nativeStand } from './fixtures/native-stand.ts'

const quick =
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'

/** A module of its own for each number, in which `f` turns so many rounds; none is a loop without end. */
const slow = (number: number) =>
  `(module (memory (export "m${number}") 0) (func (export "f") (param $left i64)
    (loop $again
      (local.set $left (i64.sub (local.get $left) (i64.const 1)))
      (br_if $again (i64.ne (local.get $left) (i64.const 0))))))`
const forEver = 0n
/** It takes some tens of milliseconds. */
const aWhile = 50_000_000n

/** Longer than all else of a test takes, so that no attack has ended before it. */
const timeoutMs = 60_000

/** Calls loops without end, each in a module that nobody knows yet. They end with the test. */
function attack(t: Test, stand: NativeStand, callers: readonly string[], count: number) {
  const end = new AbortController()
  t.teardown(() => end.abort(new Error('The test is over.')))
  const attacks = callers.flatMap((caller, place) =>
    Array.from({ length: count }, (_, index) =>
      stand.call(slow(place * count + index), 'f', [forEver], { timeoutMs, caller, signal: end.signal }),
    ),
  )
  for (const each of attacks) each.catch(() => {})
  return Promise.race(attacks.map((each) => each.catch(() => 'an attack ended')))
}

/** What comes first, for what is answered at all is answered while the attacks go on. */
const first = (answer: Promise<unknown>, ended: Promise<unknown>) => Promise.race([answer, ended])

for (const [name, callers, processes] of [
  ['one caller with many modules', ['eve'], 6],
  ['two callers with many modules', ['eve', 'mallory'], 6],
  ['with as few processes as may be', ['eve'], 3],
] as const) {
  test(`loops in modules that nobody knows keep nobody else waiting: ${name}`, async (t) => {
    const stand = nativeStand(t, { processes })
    await stand.call(quick, 'add', [1, 2], { caller: 'ada' })
    const ended = attack(t, stand, callers, 16)
    for (let n = 0; n < 10; n += 1) {
      t.strictSame(await first(stand.call(quick, 'add', [n, 1], { caller: 'ada' }), ended), [n + 1])
    }
    const other = '(module (func (export "one") (result i32) (i32.const 1)))'
    t.strictSame(await first(stand.call(other, 'one', [], { caller: 'bob' }), ended), [1], 'a new module')
  })
}

test('loops in modules that were quick before keep nobody else waiting', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2], { caller: 'ada' })
  const modules = Array.from({ length: 16 }, (_, index) => slow(4000 + index))
  for (const module of modules) await stand.call(module, 'f', [10n], { caller: 'eve' })
  const end = new AbortController()
  t.teardown(() => end.abort(new Error('The test is over.')))
  const loops = modules.map((module) =>
    stand.call(module, 'f', [forEver], { caller: 'eve', timeoutMs, signal: end.signal }),
  )
  const ended = Promise.race(loops.map((each) => each.catch(() => 'an attack ended')))
  for (let n = 0; n < 10; n += 1) {
    t.strictSame(await first(stand.call(quick, 'add', [n, 1], { caller: 'ada' }), ended), [n + 1])
  }
})

test('whoever has a long call of their own gets their turn', async (t) => {
  const stand = nativeStand(t)
  const mine = slow(1000)
  const call = () => stand.call(mine, 'f', [aWhile], { caller: 'ada', timeoutMs })
  await call()
  const ended = attack(t, stand, ['eve'], 20)
  for (let n = 0; n < 3; n += 1) t.strictSame(await first(call(), ended), [])
})

test('modules that nobody knows do not keep a long call waiting for ever', async (t) => {
  const stand = nativeStand(t)
  const mine = slow(5000)
  const call = () => stand.call(mine, 'f', [aWhile], { caller: 'ada', timeoutMs })
  await stand.call(quick, 'add', [1, 2], { caller: 'ada' })
  await call()
  let over = false
  let number = 6000
  const attackers = Array.from({ length: 4 }, async () => {
    while (!over) {
      number += 1
      await stand.call(slow(number), 'f', [forEver], { caller: 'eve', timeoutMs: 100 }).catch(() => {})
    }
  })
  for (let n = 0; n < 3; n += 1) t.strictSame(await call(), [])
  over = true
  await Promise.all(attackers)
})

test('what others make a module do says nothing of what one does oneself', async (t) => {
  const stand = nativeStand(t)
  const shared = slow(2000)
  const end = new AbortController()
  t.teardown(() => end.abort(new Error('The test is over.')))
  const theirs = Array.from({ length: 20 }, () =>
    stand.call(shared, 'f', [forEver], { caller: 'eve', timeoutMs, signal: end.signal }),
  )
  const ended = Promise.race(theirs.map((each) => each.catch(() => 'an attack ended')))
  for (let n = 0; n < 10; n += 1) {
    t.strictSame(await first(stand.call(shared, 'f', [10n], { caller: 'ada' }), ended), [])
  }
})

test('long calls of one caller end one after the other where there is no room for all', async (t) => {
  const stand = nativeStand(t, { processes: 4 })
  const calls = Array.from({ length: 8 }, (_, index) =>
    stand.call(slow(3000 + index), 'f', [aWhile], { caller: 'ada' }),
  )
  t.strictSame(await Promise.all(calls), Array(8).fill([]))
})

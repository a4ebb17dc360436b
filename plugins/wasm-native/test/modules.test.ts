import { test } from 'tap'
import { moduleOf, nativeStand } from './fixtures/native-stand.ts'
import { sandboxesOf } from './fixtures/processes.ts'
import { wat } from './fixtures/wat.ts'

/** A module whose function `f` gives a number. */
async function giving(number: number) {
  return moduleOf(await wat(`(module (func (export "f") (result i32) (i32.const ${number})))`))
}

test('the bytes of a module are asked for once, however many call it at the same time', async (t) => {
  const stand = nativeStand(t)
  const module = await giving(1)
  const results = await Promise.all(Array.from({ length: 50 }, () => stand.call(module, 'f')))
  t.strictSame(
    results,
    results.map(() => [1]),
  )
  await stand.exports(module)
  t.equal(module.asked(), 1)
})

test('what was not used for the longest time makes room', async (t) => {
  const stand = nativeStand(t, { processes: 3, cachedModules: 2 })
  const modules = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(giving))
  for (let round = 0; round < 3; round += 1) {
    for (const [index, module] of modules.entries()) t.strictSame(await stand.call(module, 'f'), [index + 1])
  }
  const [first] = modules
  for (let round = 0; round < 3; round += 1) t.strictSame(await stand.call(first ?? '', 'f'), [1])
  const kept = (first?.asked() ?? 0) - 3
  t.ok(kept <= 1, 'a module that is used again and again stays')
})

test('a module that is no good is not asked for again and again', async (t) => {
  const stand = nativeStand(t)
  const module = moduleOf(Buffer.from('no module'))
  for (let round = 0; round < 5; round += 1) {
    await t.rejects(stand.call(module, 'f'), { code: 'VALIDATION_ERROR' })
  }
  t.equal(module.asked(), 1)
})

test('what a module with imports exports is listed, and a program says where it can be run', async (t) => {
  const stand = nativeStand(t)
  const program = `(module
    (import "env" "print" (func))
    (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
    (import "env" "memory" (memory 1))
    (func (export "_start")) (func (export "f") (param i64)))`
  t.strictSame(await stand.exports(program), [
    { name: '_start', parameters: [], results: [] },
    { name: 'f', parameters: ['i64'], results: [] },
  ])
  const message =
    'The module imports the function "env.print". Programs for WASI are run by POST /api/wasm/run.'
  await t.rejects(stand.call(program, '_start'), { code: 'VALIDATION_ERROR', message })
  const long = `(module (import "${'m'.repeat(5000)}" "f" (func)) (func (export "f")))`
  await t.rejects(stand.call(long, 'f'), { message: /"m{100}….f". There are no imports but/ })
})

test('of a file that is no module, nothing is told but that', async (t) => {
  const stand = nativeStand(t)
  const message = 'The module is not valid WebAssembly: expected magic word 00 61 73 6d.'
  // The other one goes on as a module with a large memory would.
  for (const text of ['s3cret', 's3cret: \x05\x05\x01\x00\xff\xff\x02']) {
    const module = moduleOf(Buffer.from(text, 'latin1'))
    await t.rejects(stand.call(module, 'f'), { code: 'VALIDATION_ERROR', message })
  }
})

test('runs with other memory limits have sandboxes of their own', async (t) => {
  const stand = nativeStand(t, { processes: 2 })
  const grow = `(module (memory 1) (func (export "f") (result i32)
    (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) (memory.size)))`
  for (const mebibytes of [1, 4, 2, 8, 1]) {
    t.strictSame(await stand.call(grow, 'f', [], { memoryBytes: mebibytes * 2 ** 20 }), [mebibytes * 16])
  }
  t.ok(sandboxesOf().length <= 3)
})

test('functions that touch much memory one after the other stay within bounds', async (t) => {
  const stand = nativeStand(t)
  const touch = `(module (memory 400) (func (export "f") (result i32)
    (memory.fill (i32.const 0) (i32.const 1) (i32.const 26214400)) (i32.load (i32.const 26214396))))`
  for (let round = 0; round < 30; round += 1) t.strictSame(await stand.call(touch, 'f'), [0x01010101])
  t.same(stand.warnings, [], 'what earlier ones left is no reason to end a later one')
})

test('whoever waits goes on when others no longer want the modules that they waited for', async (t) => {
  const stand = nativeStand(t, { processes: 3, idleMs: 3_600_000 })
  const text = (name: string) => `(module (func (export "${name}")))`
  await stand.call(text('warm'), 'warm')
  const leaving = new AbortController()
  const never = Promise.withResolvers<never>()
  // Each call that waits for bytes keeps a sandbox, and has another one started.
  const calls: Promise<unknown>[] = []
  for (const name of ['one', 'two']) {
    const asked = Promise.withResolvers<void>()
    const bytes = () => {
      asked.resolve()
      return never.promise
    }
    const module = { ...moduleOf(await wat(text(name))), bytes }
    calls.push(t.rejects(stand.call(module, name, [], { signal: leaving.signal })))
    await asked.promise
  }
  const mine = stand.call(text('mine'), 'mine')
  leaving.abort(new Error('I have left.'))
  t.strictSame(await mine, [])
  await Promise.all(calls)
})

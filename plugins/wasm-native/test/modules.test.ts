import { test } from 'tap'
import { createModule, createRuntime } from './fixtures/native-stand.ts'
import { sandboxesOf } from './fixtures/processes.ts'
import { wat } from './fixtures/wat.ts'

/** Creates a module whose function `f` returns a number. */
async function createConstant(number: number) {
  return createModule(await wat(`(module (func (export "f") (result i32) (i32.const ${number})))`))
}

test('the bytes of a module are read once for many calls at the same time', async (t) => {
  const fixture = createRuntime(t)
  const module = await createConstant(1)
  const results = await Promise.all(Array.from({ length: 50 }, () => fixture.call(module, 'f')))
  t.strictSame(
    results,
    results.map(() => [1]),
  )
  await fixture.exports(module)
  t.equal(module.reads(), 1)
})

test('the cache evicts the least recently used module', async (t) => {
  const fixture = createRuntime(t, { processes: 3, cachedModules: 2 })
  const modules = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(createConstant))
  for (let round = 0; round < 3; round += 1) {
    for (const [index, module] of modules.entries())
      t.strictSame(await fixture.call(module, 'f'), [index + 1])
  }
  const [first] = modules
  for (let round = 0; round < 3; round += 1) t.strictSame(await fixture.call(first ?? '', 'f'), [1])
  const kept = (first?.reads() ?? 0) - 3
  t.ok(kept <= 1, 'a module that is used again and again stays in the cache')
})

test('the bytes of an invalid module are read once', async (t) => {
  const fixture = createRuntime(t)
  const module = createModule(Buffer.from('no module'))
  for (let round = 0; round < 5; round += 1) {
    await t.rejects(fixture.call(module, 'f'), { code: 'VALIDATION_ERROR' })
  }
  t.equal(module.reads(), 1)
})

test('a module with imports lists its exports, and the error for a program names the way to run it', async (t) => {
  const fixture = createRuntime(t)
  const program = `(module
    (import "env" "print" (func))
    (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
    (import "env" "memory" (memory 1))
    (func (export "_start")) (func (export "f") (param i64)))`
  t.strictSame(await fixture.exports(program), [
    { name: '_start', parameters: [], results: [] },
    { name: 'f', parameters: ['i64'], results: [] },
  ])
  const message =
    'The module imports the function "env.print". Programs for WASI are run by POST /api/wasm/run.'
  await t.rejects(fixture.call(program, '_start'), { code: 'VALIDATION_ERROR', message })
  const long = `(module (import "${'m'.repeat(5000)}" "f" (func)) (func (export "f")))`
  await t.rejects(fixture.call(long, 'f'), { message: /"m{100}….f". There are no imports but/ })
})

test('the error for a file that is no module contains no other part of the file', async (t) => {
  const fixture = createRuntime(t)
  const message = 'The module is not valid WebAssembly: expected magic word 00 61 73 6d.'
  // The second text continues like a module with a large memory.
  for (const text of ['s3cret', 's3cret: \x05\x05\x01\x00\xff\xff\x02']) {
    const module = createModule(Buffer.from(text, 'latin1'))
    await t.rejects(fixture.call(module, 'f'), { code: 'VALIDATION_ERROR', message })
  }
})

test('runs with different memory limits use different sandboxes', async (t) => {
  const fixture = createRuntime(t, { processes: 2 })
  const grow = `(module (memory 1) (func (export "f") (result i32)
    (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) (memory.size)))`
  for (const mebibytes of [1, 4, 2, 8, 1]) {
    t.strictSame(await fixture.call(grow, 'f', [], { memoryBytes: mebibytes * 2 ** 20 }), [mebibytes * 16])
  }
  t.ok(sandboxesOf().length <= 3)
})

test('functions that touch much memory one after the other stay within bounds', async (t) => {
  const fixture = createRuntime(t)
  const touch = `(module (memory 400) (func (export "f") (result i32)
    (memory.fill (i32.const 0) (i32.const 1) (i32.const 26214400)) (i32.load (i32.const 26214396))))`
  for (let round = 0; round < 12; round += 1) t.strictSame(await fixture.call(touch, 'f'), [0x01010101])
  t.same(fixture.warnings, [], 'the memory of earlier calls does not end a later call')
})

test('a waiting call runs when other calls that wait for their modules are aborted', async (t) => {
  const fixture = createRuntime(t, { processes: 3, idleMs: 3_600_000 })
  const text = (name: string) => `(module (func (export "${name}")))`
  await fixture.call(text('warm'), 'warm')
  const controller = new AbortController()
  const never = Promise.withResolvers<never>()
  // Each call that waits for bytes keeps a sandbox, and has another one started.
  const calls: Promise<unknown>[] = []
  for (const name of ['one', 'two']) {
    const requested = Promise.withResolvers<void>()
    const bytes = () => {
      requested.resolve()
      return never.promise
    }
    const module = { ...createModule(await wat(text(name))), bytes }
    calls.push(t.rejects(fixture.call(module, name, [], { signal: controller.signal })))
    await requested.promise
  }
  const waiting = fixture.call(text('waiting'), 'waiting')
  controller.abort(new Error('aborted'))
  t.strictSame(await waiting, [])
  await Promise.all(calls)
})

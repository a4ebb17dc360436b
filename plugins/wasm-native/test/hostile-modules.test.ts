import { test } from 'tap'
import { binaryModule, leb, repeated, section, withCode } from './fixtures/binary.ts'
import { createModule, createRuntime, type RuntimeFixture } from './fixtures/native-stand.ts'
import { peakOf } from './fixtures/peak.ts'

const mebibyte = 2 ** 20
const memoryBytes = 32 * mebibyte
/** The most memory of a sandbox: its limit, 160 MiB of its own, and 64 MiB that it can take between two checks. */
const largest = memoryBytes + 160 * mebibyte + 64 * mebibyte

/** Checks that a call fails, and that no sandbox took too much memory. */
async function fails(
  fixture: RuntimeFixture,
  module: Parameters<RuntimeFixture['call']>[0],
  message: RegExp,
) {
  let thrown: { readonly code?: string; readonly message?: string } = {}
  const peak = await peakOf(async () => {
    await fixture.call(module, 'f', [], { memoryBytes, timeoutMs: 500 }).catch((error) => {
      thrown = error
    })
  })
  if (!message.test(`${thrown.code}: ${thrown.message}`)) {
    throw new Error(`${thrown.code}: ${thrown.message} is not ${message}`)
  }
  if (peak > largest) throw new Error(`A sandbox had ${(peak / mebibyte).toFixed()} MiB.`)
}

const limits = /^UNPROCESSABLE: The (time|memory) limit/

test('a module that takes memory without end is stopped', async (t) => {
  const fixture = createRuntime(t)
  const grow = `(loop (drop (memory.grow (i32.const 1)))
    (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536))) (br 0))`
  await fails(fixture, `(module (memory 1) (func (export "f") ${grow}))`, limits)
  t.pass('by memory.grow')
  const tables = Array.from(
    { length: 500 },
    (_, index) => `(drop (table.grow ${index} (ref.null extern) (i32.const 900000)))`,
  )
  await fails(
    fixture,
    `(module ${'(table 1 externref)'.repeat(500)} (func (export "f") (loop ${tables.join('')} (br 0))))`,
    limits,
  )
  t.pass('by table.grow of many tables')
  await fails(fixture, createModule(endlessList), limits)
  t.pass('by structs on the heap that all stay in use')
})

test('a module of 100 MB can be called', async (t) => {
  const fixture = createRuntime(t)
  const bytes = Buffer.concat([withCode([0]), section(0, Buffer.alloc(100 * mebibyte))])
  const module = createModule(bytes)
  t.strictSame(await fixture.call(module, 'f', [], { timeoutMs: 20_000 }), [])
  t.strictSame(await fixture.call(module, 'f'), [], 'the module is cached')
  t.equal(module.reads(), 1)
})

test('a module that takes too much time or memory to compile is stopped', async (t) => {
  const fixture = createRuntime(t)
  await fails(fixture, createModule(deepBlocks), limits)
  t.pass('900,000 blocks within each other')
  await fails(fixture, createModule(longCode), limits)
  t.pass('a function with a million instructions on 40,000 variables')
  t.strictSame(await fixture.call('(module (func (export "f")))', 'f'), [], 'the next call works')
})

test('a module that announces more content than it has is refused', async (t) => {
  const fixture = createRuntime(t)
  const many = 2 ** 32 - 1
  const claims = [
    binaryModule(section(1, leb(1_000_000), [0x60])),
    binaryModule(section(1, [1, 0x60, 0, 0]), section(3, leb(many))),
    binaryModule(section(2, leb(many), leb(many))),
    binaryModule(section(5, leb(100_000))),
    binaryModule(section(7, [1], leb(many))),
    binaryModule(Buffer.from([1, ...leb(many), 0])),
  ]
  for (const [index, bytes] of claims.entries()) {
    await t.rejects(fixture.call(createModule(bytes), 'f'), { code: 'VALIDATION_ERROR' }, `claim ${index}`)
  }
  const types = repeated(20_000, [0x60, ...leb(500), ...Array.from({ length: 500 }, () => 0x7f), 0])
  const manyTypes = binaryModule(section(1, leb(20_000), types))
  await t.rejects(fixture.call(createModule(manyTypes), 'f', [], { timeoutMs: 20_000 }), {
    code: 'NOT_FOUND',
  })
})

test('a list of functions that would be very long is refused', async (t) => {
  const fixture = createRuntime(t)
  const names = Array.from({ length: 100_000 }, (_, index) => {
    const name = Buffer.from(String(index))
    return Buffer.from([name.length, ...name, 0, 0])
  })
  const parameters = Array.from({ length: 900 }, () => 0x7f)
  const module = createModule(
    binaryModule(
      section(1, [1, 0x60], leb(900), parameters, [0]),
      section(3, [1, 0]),
      section(7, leb(names.length), Buffer.concat(names)),
      section(10, [1, 2, 0, 0x0b]),
    ),
  )
  const options = { timeoutMs: 20_000 }
  await t.rejects(fixture.exports(module, options), { code: 'UNPROCESSABLE', message: /more functions/ })
  t.strictSame(
    await fixture.call(module, '99999', Array(900).fill(1), options),
    [],
    'the functions of the module can be called',
  )
})

test('an error names the missing import of a module, and AssemblyScript may abort', async (t) => {
  const fixture = createRuntime(t)
  const imports = [
    '(import "env" "abort" (memory 1))',
    '(import "env" "abort" (global i32))',
    '(import "env" "print" (func))',
    '(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))',
    '(import "wasm:js-string" "length" (func (param externref) (result i32)))',
  ]
  for (const statement of imports) {
    const [, module, name] = /"(.*?)" "(.*?)"/.exec(statement) ?? []
    await t.rejects(
      fixture.call(`(module ${statement} (func (export "f")))`, 'f'),
      { code: 'VALIDATION_ERROR', message: new RegExp(`${module}.${name}`) },
      statement,
    )
  }
  const abort = (pointer: number) =>
    `(module (import "env" "abort" (func $abort (param i32 i32 i32 i32))) (memory (export "memory") 1)
      (data (i32.const 8) "\\0a\\00\\00\\00o\\00h\\00 \\00n\\00o\\00") (data (i32.const 40) "\\08\\00\\00\\00a\\00.\\00t\\00s\\00")
      (func (export "f") (call $abort (i32.const ${pointer}) (i32.const 44) (i32.const 3) (i32.const 14))))`
  for (const [pointer, message] of [
    [12, 'abort: oh no (a.ts:3:14)'],
    [0, 'abort: no message (a.ts:3:14)'],
    [-1, 'abort: no message (a.ts:3:14)'],
    [65_536, 'abort: no message (a.ts:3:14)'],
  ] as const) {
    const expected = { code: 'UNPROCESSABLE', message: `The function trapped: ${message}.` }
    await t.rejects(fixture.call(abort(pointer), 'f'), expected, `at ${pointer}`)
  }
  const strange = `(module (import "env" "abort" (func $abort (param v128)))
    (func (export "f") (call $abort (v128.const i32x4 0 0 0 0))))`
  await t.rejects(fixture.call(strange, 'f'), {
    code: 'UNPROCESSABLE',
    message: /trapped: type incompatibility/,
  })
})

test('each cause that ends a function is reported', async (t) => {
  const fixture = createRuntime(t)
  const endings: [code: string, message: RegExp][] = [
    ['(func (export "f") (unreachable))', /trapped: unreachable/],
    ['(func $f (export "f") (call $f))', /trapped: the stack is full/],
    ['(func $s (unreachable)) (start $s) (func (export "f"))', /trapped: unreachable/],
    ['(memory 1) (data (i32.const 65530) "too long") (func (export "f"))', /trapped: data segment/],
    ['(tag $t) (func (export "f") (throw $t))', /trapped: .*exception/],
  ]
  for (const [code, message] of endings) {
    const attempt = fixture.call(`(module ${code})`, 'f', [])
    await t.rejects(attempt, { code: 'UNPROCESSABLE', message }, code)
  }
  const waiting =
    '(memory 1 1 shared) (func (export "f") (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))))'
  await t.rejects(fixture.call(`(module ${waiting})`, 'f', [], { timeoutMs: 200 }), {
    code: 'UNPROCESSABLE',
    message: /time limit of 200 ms/,
  })
})

/** (type $list (struct (field (ref null $list)) (field i64))): a list that grows at its head, without end. */
const endlessList = binaryModule(
  section(1, [2, 0x60, 0, 0, 0x5f, 2, 0x63, 1, 0, 0x7e, 0]),
  section(3, [1, 0]),
  section(7, [1, 1, 0x66, 0, 0]),
  section(
    10,
    [1, 19, 1, 1, 0x63, 1],
    [0x03, 0x40, 0x20, 0, 0x42, 0, 0xfb, 0, 1, 0x21, 0, 0x0c, 0, 0x0b, 0x0b],
  ),
)
const deepBlocks = withCode([0], repeated(900_000, [0x02, 0x40]), repeated(900_000, [0x0b]))
/** Copies from one of 40,000 local variables to another, a million times. */
const longCode = withCode(
  [1, ...leb(40_000), 0x7f],
  repeated(10_000, Array.from({ length: 100 }, (_, index) => [0x20, index, 0x21, (index * 7) % 127]).flat()),
)

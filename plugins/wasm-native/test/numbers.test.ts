import type { WasmNumber } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'
import { createRuntime } from './fixtures/native-stand.ts'
import { same } from './fixtures/same.ts'

const identity = `(module
  (func (export "i32") (param i32) (result i32) (local.get 0))
  (func (export "i64") (param i64) (result i64) (local.get 0))
  (func (export "f32") (param f32) (result f32) (local.get 0))
  (func (export "f64") (param f64) (result f64) (local.get 0))
  (func (export "swap") (param f64 i64) (result i64 f64) (local.get 1) (local.get 0))
  (func (export "convert") (param i64) (result f64) (f64.convert_i64_s (local.get 0)))
  (func (export "reinterpret") (param f64) (result i64) (i64.reinterpret_f64 (local.get 0))))`

const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
/** Values near the limits of exact doubles and of 64-bit integers. */
const edges = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 62n, 2n ** 63n - 2n]
  .flatMap((edge) => [edge - 1n, edge, edge + 1n])
  .flatMap((edge) => [edge, -edge])
const anyLong = fc.oneof(long, fc.constantFrom(...edges))
const anyDouble = fc.oneof(fc.double(), fc.constantFrom(-0, 5e-324, 2 ** 53 + 2, Number.NaN))

test('every number is returned as its type converts it', async (t) => {
  const fixture = createRuntime(t)
  const call = async (name: string, ...args: WasmNumber[]) => fixture.call(identity, name, args)
  const property = fc.asyncProperty(fc.integer(), anyLong, anyDouble, async (small, big, double) => {
    const results = await Promise.all([
      call('i32', small),
      call('i32', small >>> 0),
      call('i64', big),
      call('f32', double),
      call('f64', double),
      call('swap', double, big),
      call('convert', big),
    ])
    return same(results.flat(), [
      small,
      small,
      safe(big),
      Math.fround(double),
      double,
      safe(big),
      double,
      Number(big),
    ])
  })
  await fc.assert(property, { numRuns: 100 })
})

test('a number is passed with the bits of its type', async (t) => {
  const fixture = createRuntime(t)
  const view = new DataView(new ArrayBuffer(8))
  for (const value of [-0, 1.5, Number.MIN_VALUE, Number.NEGATIVE_INFINITY]) {
    view.setFloat64(0, value)
    t.strictSame(
      await fixture.call(identity, 'reinterpret', [value]),
      [safe(view.getBigInt64(0))],
      `${value}`,
    )
  }
})

test('arguments that do not fit the parameters are refused', async (t) => {
  const fixture = createRuntime(t)
  const wrong: [name: string, args: WasmNumber[]][] = [
    ['i32', []],
    ['i32', [1, 2]],
    ['i32', [1n]],
    ['i32', [0.5]],
    ['i32', [Number.NaN]],
    ['i32', [2 ** 32]],
    ['i32', [-(2 ** 31) - 1]],
    ['i64', [0.5]],
    ['i64', [2 ** 53]],
    ['i64', [2n ** 64n]],
    ['i64', [-(2n ** 63n) - 1n]],
    ['f32', [1n]],
    ['f64', [1n]],
  ]
  for (const [name, args] of wrong) {
    await t.rejects(fixture.call(identity, name, args), { code: 'VALIDATION_ERROR' }, `${name}(${args})`)
  }
})

function safe(value: bigint): WasmNumber {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

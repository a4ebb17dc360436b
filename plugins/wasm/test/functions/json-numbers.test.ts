import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createNativeNode } from '../fixtures/native-node.ts'
import { post, readAnswer, store } from '../fixtures/wasm-node.ts'
import { wat } from '../fixtures/wat.ts'

/** The number of arguments in one call. */
const width = 40

/** Returns a function that applies an instruction to each of its arguments, and returns the results. */
function each(name: string, from: string, to: string, instruction = ''): string {
  const results = Array.from({ length: width }, (_, index) => `(local.get ${index}) ${instruction}`)
  return `(func (export "${name}") (param ${`${from} `.repeat(width)}) (result ${`${to} `.repeat(width)})
    ${results.join('\n')})`
}

const module = `(module
  ${each('i32', 'i32', 'i32')}
  ${each('i64', 'i64', 'i64')}
  ${each('f32 to bits', 'f32', 'i32', '(i32.reinterpret_f32)')}
  ${each('f64 to bits', 'f64', 'i64', '(i64.reinterpret_f64)')}
  ${each('bits to f32', 'i32', 'f32', '(f32.reinterpret_i32)')}
  ${each('bits to f64', 'i64', 'f64', '(f64.reinterpret_i64)')})`

/** The test passes numbers both ways through the interface, and compares the bits that a real module sees. */
t.test('numbers keep their bits in both directions', async (t) => {
  const node = await createNativeNode(t)
  const ada = await node.signIn()
  await store(ada, '/numbers.wasm', await wat(module))
  /** Sends arguments exactly as given in the JSON, and returns the results exactly as the JSON has them. */
  const call = async (name: string, args: readonly string[]): Promise<string[]> => {
    const body = `{"filepath":"/numbers.wasm","function":"${name}","args":[${args.join()}]}`
    const { text, status } = await readAnswer(post(ada, 'execute-file', body))
    if (status !== 200) throw new Error(text)
    return text.slice('{"success":true,"result":['.length, -2).split(',')
  }
  const check = <T>(t: Test, number: fc.Arbitrary<T>, same: (numbers: T[]) => Promise<[unknown, unknown]>) =>
    fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: width, maxLength: width }), async (numbers) => {
        t.strictSame(...(await same(numbers)))
      }),
      { numRuns: 25 },
    )

  const edges32 = fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 32 - 1)
  const any32 = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }), edges32)
  await t.test('an i32 can be given signed or unsigned', (t) =>
    check(t, any32, async (numbers) => [
      await call('i32', numbers.map(String)),
      numbers.map((n) => `${n | 0}`),
    ]),
  )

  const edges64 = [
    0n,
    -1n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    2n ** 63n,
    2n ** 64n - 1n,
  ]
  const least64 = -(2n ** 63n)
  const any64 = fc.oneof(
    fc.bigInt({ min: least64, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
    fc.constantFrom(least64, -(2n ** 53n), 1n - 2n ** 53n, ...edges64),
  )
  const isSafe = (integer: bigint) => Number.isSafeInteger(Number(integer))
  const writings = fc.tuple(any64, fc.boolean())
  await t.test('an i64 can be given as a number or as text', (t) =>
    check(t, writings, async (numbers) => [
      await call(
        'i64',
        numbers.map(([integer, plain]) => (plain && isSafe(integer) ? `${integer}` : `"${integer}"`)),
      ),
      numbers.map(([integer]) => {
        const signed = BigInt.asIntN(64, integer)
        return isSafe(signed) ? `${signed}` : `"${signed}"`
      }),
    ]),
  )

  const bits = new DataView(new ArrayBuffer(8))
  const anyBits32 = fc.oneof(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fc.float({ noNaN: true }).map((float) => {
      bits.setFloat32(0, float)
      return bits.getInt32(0)
    }),
  )
  const float32 = (n: number) => {
    bits.setInt32(0, n)
    return bits.getFloat32(0)
  }
  await t.test('an f32 keeps its bits', async (t) => {
    await check(t, anyBits32, async (numbers) => {
      const written = await call('bits to f32', numbers.map(String))
      t.strictSame(written.map(read), numbers.map(float32).map(tellZeros))
      const floats = numbers.map((n, index) => (Number.isNaN(float32(n)) ? '0' : (written[index] as string)))
      return [
        await call('f32 to bits', floats),
        numbers.map((n) => (Number.isNaN(float32(n)) ? '0' : `${n}`)),
      ]
    })
  })
  const anySingle = fc.double({ noNaN: true }).filter((n) => Number.isFinite(Math.fround(n)))
  await t.test('an f32 from a double is rounded to the nearest', (t) =>
    check(t, anySingle, async (numbers) => [
      await call('f32 to bits', numbers.map(write)),
      numbers.map((n) => {
        bits.setFloat32(0, n)
        return `${bits.getInt32(0)}`
      }),
    ]),
  )

  const float64 = (n: bigint) => {
    bits.setBigInt64(0, n)
    return bits.getFloat64(0)
  }
  const anyBits64 = fc.oneof(
    fc.bigInt({ min: least64, max: 2n ** 63n - 1n }),
    fc.double({ noNaN: true }).map((float) => {
      bits.setFloat64(0, float)
      return bits.getBigInt64(0)
    }),
  )
  await t.test('an f64 keeps its bits', async (t) => {
    await check(t, anyBits64, async (numbers) => {
      const written = await call(
        'bits to f64',
        numbers.map((n) => `"${n}"`),
      )
      t.strictSame(written.map(read), numbers.map(float64).map(tellZeros))
      const floats = numbers.map((n, index) => (Number.isNaN(float64(n)) ? '0' : (written[index] as string)))
      const back = await call('f64 to bits', floats)
      return [
        back.map((text) => BigInt(text.replaceAll('"', ''))),
        numbers.map((n) => (Number.isNaN(float64(n)) ? 0n : n)),
      ]
    })
  })
})

function write(number: number): string {
  if (!Number.isFinite(number)) return `"${number}"`
  return Object.is(number, -0) ? '-0' : `${number}`
}

/** Returns a float from its text in the JSON. */
function read(text: string): unknown {
  return tellZeros(text.startsWith('"') ? Number(JSON.parse(text)) : JSON.parse(text))
}

function tellZeros(number: number): unknown {
  return Object.is(number, -0) ? '-0' : number
}

import { test } from 'tap'
import { binaryModule, section } from './fixtures/binary.ts'
import { createModule, createRuntime } from './fixtures/native-stand.ts'

const I32 = 0x7f
const refNull = 0x63

test('types of every form before those of functions are skipped', async (t) => {
  const fixture = createRuntime(t)
  const module = binaryModule(
    section(
      1,
      [6],
      // Two types that name each other: (rec (type (struct (field (ref null 1)) (field i8)))
      [0x4e, 2, 0x5f, 2, refNull, 1, 0, 0x78, 1],
      // (type (sub (array (mut f64)))))
      [0x50, 0, 0x5e, 0x7c, 1],
      // (type (sub 1 (array (mut f64)))), and the last of its line
      [0x50, 1, 1, 0x5e, 0x7c, 1],
      [0x4f, 1, 2, 0x5e, 0x7c, 1],
      [0x60, 1, I32, 2, 0x7d, 0x7e],
      [0x60, 1, refNull, 0, 0],
      [0x60, 0, 0],
    ),
    section(3, [3, 4, 5, 6]),
    section(7, [3], [1, 0x61, 0, 0], [1, 0x62, 0, 1], [1, 0x63, 0, 2]),
    section(10, [3], [9, 0, 0x43, 0, 0, 0xc0, 0x3f, 0x42, 0x7f, 0x0b], [2, 0, 0x0b], [2, 0, 0x0b]),
  )
  t.strictSame(await fixture.exports(createModule(module)), [
    { name: 'a', parameters: ['i32'], results: ['f32', 'i64'] },
    { name: 'c', parameters: [], results: [] },
  ])
  t.strictSame(await fixture.call(createModule(module), 'a', [1]), [1.5, -1])
  await t.rejects(fixture.call(createModule(module), 'b'), { code: 'VALIDATION_ERROR' })
})

test('tables with an initial value of any form are skipped', async (t) => {
  const fixture = createRuntime(t)
  const FUNCREF = 0x70
  const anyref = 0x6e
  const module = binaryModule(
    section(1, [4], [0x60, 0, 0], [0x5f, 0], [0x5e, 0x7f, 0], [0x60, 0, 1, I32]),
    section(3, [2, 0, 3]),
    section(
      4,
      [5],
      // (table 1 funcref (ref.func 0)), and without a value (table 2 3 funcref)
      [0x40, 0, FUNCREF, 0, 1, 0xd2, 0, 0x0b],
      [FUNCREF, 1, 2, 3],
      // (table 1 anyref (struct.new 1))
      [0x40, 0, anyref, 0, 1, 0xfb, 0, 1, 0x0b],
      // (table 1 anyref (array.new_fixed 2 2 (i32.const 300) (i32.add (i32.const 1) (i32.const 2))))
      [0x40, 0, anyref, 0, 1, 0x41, 0xac, 2, 0x41, 1, 0x41, 2, 0x6a, 0xfb, 8, 2, 2, 0x0b],
      // (table 1 anyref (ref.i31 (i32.const 11)))
      [0x40, 0, anyref, 0, 1, 0x41, 11, 0xfb, 0x1c, 0x0b],
    ),
    section(7, [1, 1, 0x66, 0, 1]),
    section(10, [2], [2, 0, 0x0b], [5, 0, 0xfc, 16, 1, 0x0b]),
  )
  t.strictSame(await fixture.exports(createModule(module)), [{ name: 'f', parameters: [], results: ['i32'] }])
  t.strictSame(await fixture.call(createModule(module), 'f'), [2], 'the size of the second table')
})

test('memories and tables of all forms count toward the limit', async (t) => {
  const fixture = createRuntime(t)
  const memoryBytes = 2 ** 20
  const fits = [
    '(memory 16)',
    '(memory i64 16)',
    '(memory 8 8) (memory 8 8)',
    '(memory 1 16 shared)',
    '(table 30000 funcref)',
    '(memory 15) (table 100 100 funcref)',
    '(memory 15) (table 1 funcref) (table 1 externref)',
    '(memory 1) (table 20 20 funcref) (table 1024 externref)',
  ]
  const tooLarge = [
    '(memory 17)',
    '(memory i64 17)',
    '(memory 8 8) (memory 9 9)',
    '(memory 1) (memory 1 2)',
    '(memory 1 16) (memory 1 1)',
    '(table 40000 funcref)',
    '(memory 16) (table 1 externref)',
    '(table 20000 funcref) (table 20000 externref)',
    '(table 20000 funcref) (table 1 externref)',
    '(memory 14) (table 4000 funcref) (table 1 externref)',
    '(memory 1 8) (memory 1 8) (table 1 1 externref)',
  ]
  for (const what of fits) {
    t.strictSame(
      await fixture.call(`(module ${what} (func (export "f")))`, 'f', [], { memoryBytes }),
      [],
      what,
    )
  }
  for (const what of tooLarge) {
    const attempt = fixture.call(`(module ${what} (func (export "f")))`, 'f', [], { memoryBytes })
    await t.rejects(attempt, { code: 'UNPROCESSABLE', message: /exceeds the memory limit/ }, what)
  }
})

test('growing memories and tables together stay within the limit', async (t) => {
  const fixture = createRuntime(t)
  const memoryBytes = 2 ** 20
  const grown = async (fields: string, memories: number, tables: readonly string[]) => {
    const grow = [
      ...Array.from({ length: memories }, (_, index) => [
        `memory.grow ${index} (i32.const 1)`,
        `memory.size ${index}`,
      ]),
      ...tables.map((type, index) => [
        `table.grow ${index} (ref.null ${type}) (i32.const 1)`,
        `table.size ${index}`,
      ]),
    ]
    const loops = grow.map(([step]) => `(loop (br_if 0 (i32.ne (i32.const -1) (${step}))))`).join(' ')
    const sizes = grow.map(([, size]) => `(${size})`).join(' ')
    const results = 'i32 '.repeat(grow.length)
    const text = `(module ${fields} (func (export "f") (result ${results}) ${loops} ${sizes}))`
    return (await fixture.call(text, 'f', [], { memoryBytes })).map(Number)
  }
  const page = 65_536
  const elements = (bytes: number) => bytes / 32
  const cases: [fields: string, memories: number, tables: string[], most: number[]][] = [
    ['(memory 1)', 1, [], [16]],
    ['(memory 1) (table 10 10 funcref)', 1, ['func'], [15, 10]],
    ['(memory 1) (table 10 funcref)', 1, ['func'], [14, elements(2 * page)]],
    ['(memory 1 4) (table 10 funcref)', 1, ['func'], [4, elements(12 * page)]],
    ['(memory 1) (table 1 9999999 funcref) (table 1 externref)', 1, ['func', 'extern'], [14, 2048, 2048]],
    ['(memory 1 4) (memory 1 4) (table 1 externref)', 2, ['extern'], [4, 4, elements(8 * page)]],
    [
      '(table 1 funcref) (table 1 externref)',
      0,
      ['func', 'extern'],
      [elements(8 * page), elements(8 * page)],
    ],
    ['(memory 16)', 1, [], [16]],
  ]
  for (const [fields, memories, tables, most] of cases) {
    t.strictSame(await grown(fields, memories, tables), most, fields)
  }
})

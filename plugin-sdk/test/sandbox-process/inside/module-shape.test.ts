import { encodeUnsigned, type ModuleShape, readModuleShape } from '@nodekeep/plugin-sdk/wasm-binary'
import fc from 'fast-check'
import { test } from 'tap'

const codes = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  funcref: 0x70,
  externref: 0x6f,
  v128: 0x7b,
} as const
type Type = keyof typeof codes

/** A function of a model of modules: its type by number, and the name of its export, if it has one. */
interface FunctionModel {
  readonly type: number
  readonly name: string | null
}

interface ModuleModel {
  readonly types: readonly { readonly parameters: readonly Type[]; readonly results: readonly Type[] }[]
  readonly imported: readonly FunctionModel[]
  readonly own: readonly FunctionModel[]
  /** In pages. */
  readonly memory: { readonly initial: number; readonly maximum: number | null } | null
}

const anyTypes = fc.array(fc.constantFrom(...(Object.keys(codes) as Type[])), { maxLength: 5 })
const anyFunctions = fc.array(
  fc.record({ type: fc.nat(), name: fc.option(fc.string({ unit: 'grapheme', maxLength: 8 })) }),
  { maxLength: 6 },
)
const anyModule: fc.Arbitrary<ModuleModel> = fc
  .record({
    types: fc.array(fc.record({ parameters: anyTypes, results: anyTypes }), { minLength: 1, maxLength: 5 }),
    imported: anyFunctions,
    own: anyFunctions,
    memory: fc.option(
      fc.record({ initial: fc.nat(100), maximum: fc.option(fc.integer({ min: 100, max: 65_536 })) }),
    ),
  })
  .map((model) => withDistinctNames(model))

test('the shape of a module is what its binary declares', async () => {
  fc.assert(
    fc.property(anyModule, (model) => {
      const bytes = encode(model)
      // V8 agrees that this is a module with these exports.
      const { Module } = (globalThis as unknown as { WebAssembly: WebAssemblyModules }).WebAssembly
      const names = Module.exports(new Module(bytes)).map(({ name }) => name)
      const { functions, imports, memories } = readModuleShape(bytes)
      return (
        JSON.stringify([...functions]) === JSON.stringify(expectedFunctions(model)) &&
        JSON.stringify(names) === JSON.stringify([...functions.keys()]) &&
        imports.every(({ kind, type }, at) => kind === 'function' && type === model.imported[at]?.type) &&
        imports.length === model.imported.length &&
        JSON.stringify(memories) === JSON.stringify(expectedMemories(model))
      )
    }),
  )
})

test('any other bytes are read in bounded time, or are a RangeError', async (t) => {
  const began = performance.now()
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(anyModule, changes, fc.nat(), (model, changed, end) => {
      const bytes = encode(model)
      for (const [at, byte] of changed) bytes[8 + (at % (bytes.length - 8))] = byte
      return isShapeOrRangeError(bytes) && isShapeOrRangeError(bytes.subarray(0, end % bytes.length))
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
      isShapeOrRangeError(Buffer.concat([encode(null), bytes])),
    ),
    { numRuns: 500 },
  )
  t.ok(performance.now() - began < 20_000)
})

test('integers, counts and names that are too long do no harm', async (t) => {
  const endless = Array(400).fill(0x80)
  const section = (id: number, content: readonly number[]) => [
    id,
    ...encodeUnsigned(content.length),
    ...content,
  ]
  const many = encodeUnsigned(2 ** 40)
  const hostile = {
    'a long integer as the length of a section': [1, ...endless, 0],
    'a long integer as the length of a name': section(7, [...many, ...endless, 0]),
    'many exports': section(7, [...many, 0, 0, 0]),
    'many types in one group': section(1, [1, 0x4e, ...many]),
    'many empty groups': section(1, [...many, ...Array(400).flatMap(() => [0x4e, 0])]),
    'a page of a memory that is too large': section(5, [1, 8, 1, 100]),
  }
  for (const [what, bytes] of Object.entries(hostile)) {
    t.throws(() => readModuleShape(Buffer.from([...encode(null), ...bytes])), RangeError, what)
  }
})

test('a module is read from any Uint8Array, also from a part of its memory', async (t) => {
  const model: ModuleModel = {
    types: [{ parameters: ['i32', 'i32'], results: ['i32'] }],
    imported: [],
    own: [{ type: 0, name: 'add' }],
    memory: { initial: 1, maximum: null },
  }
  const bytes = encode(model)
  const whole = new Uint8Array(bytes.length + 20)
  whole.set(bytes, 10)
  const shape: ModuleShape = readModuleShape(whole.subarray(10, 10 + bytes.length))
  t.strictSame([...shape.functions], [['add', { parameters: ['i32', 'i32'], results: ['i32'] }]])
  t.strictSame(shape.memories, [{ initial: 65_536, maximum: null }])
})

interface WebAssemblyModules {
  readonly Module: {
    new (bytes: Uint8Array): object
    exports(module: object): { readonly name: string }[]
  }
}

function withDistinctNames({ types, imported, own, memory }: ModuleModel): ModuleModel {
  const names = new Set<string>()
  const distinct = ({ type, name }: FunctionModel): FunctionModel => {
    const isNew = name !== null && !names.has(name)
    if (isNew) names.add(name)
    return { type: type % types.length, name: isNew ? name : null }
  }
  return { types, imported: imported.map(distinct), own: own.map(distinct), memory }
}

function expectedFunctions({ types, imported, own }: ModuleModel): unknown[] {
  const isNumeric = (type: Type) => /^[if]\d\d$/.test(type)
  return [...imported, ...own].flatMap(({ type, name }) => {
    if (name === null) return []
    const { parameters = [], results = [] } = types[type] ?? {}
    return [[name, [...parameters, ...results].every(isNumeric) ? { parameters, results } : null]]
  })
}

function expectedMemories({ memory }: ModuleModel): unknown[] {
  if (memory === null) return []
  const { initial, maximum } = memory
  return [{ initial: initial * 65_536, maximum: maximum === null ? null : maximum * 65_536 }]
}

function isShapeOrRangeError(bytes: Uint8Array): boolean {
  try {
    readModuleShape(bytes)
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}

/** The binary of a module: https://webassembly.github.io/spec/core/binary/modules.html */
function encode(model: ModuleModel | null): Buffer {
  const header = Buffer.from('\0asm\x01\0\0\0', 'latin1')
  if (model === null) return header
  const { types, imported, own, memory } = model
  const list = (items: readonly (readonly number[])[]) => [...encodeUnsigned(items.length), ...items.flat()]
  const name = (text: string) => list([...Buffer.from(text)].map((byte) => [byte]))
  const section = (id: number, items: readonly (readonly number[])[]) => {
    const content = list(items)
    return items.length === 0 ? [] : [id, ...encodeUnsigned(content.length), ...content]
  }
  const valueTypes = (all: readonly Type[]) => list(all.map((type) => [codes[type]]))
  const exported = [...imported, ...own].flatMap(({ name: text }, index) =>
    text === null ? [] : [[...name(text), 0, ...encodeUnsigned(index)]],
  )
  const limits = memory && [
    memory.maximum === null ? 0 : 1,
    ...encodeUnsigned(memory.initial),
    ...(memory.maximum === null ? [] : encodeUnsigned(memory.maximum)),
  ]
  return Buffer.concat([
    header,
    Buffer.from([
      ...section(
        1,
        types.map(({ parameters, results }) => [0x60, ...valueTypes(parameters), ...valueTypes(results)]),
      ),
      ...section(
        2,
        imported.map(({ type }, index) => [...name('env'), ...name(`f${index}`), 0, ...encodeUnsigned(type)]),
      ),
      ...section(
        3,
        own.map(({ type }) => encodeUnsigned(type)),
      ),
      ...section(5, limits === null ? [] : [limits]),
      ...section(7, exported),
      // Each body is one instruction, `unreachable`, and its end.
      ...section(
        10,
        own.map(() => [3, 0, 0x00, 0x0b]),
      ),
    ]),
  ])
}

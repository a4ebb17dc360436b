/** Sections of WebAssembly's binary format: https://webassembly.github.io/spec/core/binary/modules.html */
import {
  type Extent,
  type NumericType,
  readFunctionType,
  readMemory,
  readTable,
  skipValueType,
} from './binary-types.ts'
import { ByteReader } from './byte-reader.ts'

const headerBytes = 8
const magic = Buffer.from('\0asm')
const Section = { type: 1, import: 2, function: 3, table: 4, memory: 5, export: 7 } as const
const importKinds = ['function', 'table', 'memory', 'global', 'tag'] as const
const exportedFunction = 0
/** Forms of types. */
const Form = {
  recursive: 0x4e,
  final: 0x4f,
  extendable: 0x50,
  array: 0x5e,
  struct: 0x5f,
  function: 0x60,
} as const

/** Something that a module imports. */
export interface ModuleImport {
  readonly module: string
  readonly name: string
  readonly kind: (typeof importKinds)[number]
  /** The index of a function's type. */
  readonly type: number | null
}

/** The declarations of a module, apart from its code. */
export interface ModuleShape {
  readonly imports: readonly ModuleImport[]
  /** The module's own memories, in bytes. */
  readonly memories: readonly Extent[]
  /** The module's own tables, in elements. */
  readonly tables: readonly Extent[]
  /** The exported functions in their order, by name. Null for those with other values than numbers. */
  readonly functions: ReadonlyMap<string, NumericType | null>
}

/**
 * Reads the shape of a module from its binary: its imports, the sizes of its memories and tables, and the types of the
 * functions that it exports. The time and memory grow with the size of the module, also for hostile ones. It does not
 * check whether the module is valid: an engine has to do that.
 *
 * @throws RangeError when the bytes cannot be understood: they are no module, end too soon, or use a form of the format
 * that is unknown here
 * @example
 * const { functions } = readModuleShape(await module.bytes())
 * functions.get('add') // { parameters: ['i32', 'i32'], results: ['i32'] }
 */
export function readModuleShape(module: Uint8Array): ModuleShape {
  const bytes = Buffer.from(module.buffer, module.byteOffset, module.byteLength)
  if (!bytes.subarray(0, magic.length).equals(magic)) throw new RangeError('It is no module.')
  let imports: ModuleImport[] = []
  let memories: Extent[] = []
  let tables: Extent[] = []
  let types: number[] = []
  let typesOfFunctions: number[] = []
  const functions = new Map<string, NumericType | null>()
  const typesByOffset = new Map<number, NumericType | null>()
  const reader = new ByteReader(bytes)
  reader.skip(headerBytes)
  while (reader.more) {
    const id = reader.byte()
    const section = reader.part(reader.unsigned())
    if (id === Section.type) types = readTypePlaces(section)
    if (id === Section.import) imports = section.list(readImport)
    if (id === Section.function) typesOfFunctions = section.list((from) => from.unsigned())
    if (id === Section.table) tables = section.list(readTable)
    if (id === Section.memory) memories = section.list(readMemory)
    if (id === Section.export) readExports(section)
  }
  return { imports, memories, tables, functions }

  function readExports(section: ByteReader): void {
    const imported = imports.filter(({ kind }) => kind === 'function').map(({ type }) => type ?? -1)
    for (let left = section.unsigned(); left > 0; left -= 1) {
      const name = section.name()
      const kind = section.byte()
      const index = section.unsigned()
      if (kind !== exportedFunction) continue
      const type = index < imported.length ? imported[index] : typesOfFunctions[index - imported.length]
      functions.set(name, typeAt(types[type ?? -1] ?? -1))
    }
  }

  /** Many functions may have the same type, which may be long, so it is read once. */
  function typeAt(offset: number): NumericType | null {
    let type = typesByOffset.get(offset)
    if (type === undefined) {
      type = offset < 0 ? null : readFunctionType(new ByteReader(bytes, offset))
      typesByOffset.set(offset, type)
    }
    return type
  }
}

function readImport(reader: ByteReader): ModuleImport {
  const module = reader.name()
  const name = reader.name()
  const code = reader.byte()
  const kind = importKinds[code]
  if (kind === undefined) throw new RangeError(`The import ${code} is unknown.`)
  const type = kind === 'function' ? reader.unsigned() : null
  if (kind === 'table') readTable(reader)
  if (kind === 'memory') readMemory(reader)
  if (kind === 'global') skipField(reader)
  if (kind === 'tag') {
    reader.skip(1)
    reader.skipInteger()
  }
  return { module, name, kind, type }
}

/**
 * Reads where each function type stands. A hostile module may have a million types with a thousand parameters each, so
 * only the types of exported functions are read.
 *
 * @returns for each type its offset in the module, or -1 when it is not a function
 */
function readTypePlaces(reader: ByteReader): number[] {
  const offsets: number[] = []
  const skipType = (form: number) => {
    const isSubtype = form === Form.extendable || form === Form.final
    if (isSubtype) for (let left = reader.unsigned(); left > 0; left -= 1) reader.skipInteger()
    const composite = isSubtype ? reader.byte() : form
    offsets.push(composite === Form.function ? reader.at : -1)
    skipComposite(composite, reader)
  }
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    const form = reader.byte()
    if (form !== Form.recursive) skipType(form)
    else for (let inner = reader.unsigned(); inner > 0; inner -= 1) skipType(reader.byte())
  }
  return offsets
}

function skipComposite(form: number, reader: ByteReader): void {
  if (form === Form.function) {
    skipAll(skipValueType, reader)
    skipAll(skipValueType, reader)
  } else if (form === Form.struct) skipAll(skipField, reader)
  else if (form === Form.array) skipField(reader)
  else throw new RangeError(`The type ${form} is unknown.`)
}

function skipAll(skip: (reader: ByteReader) => void, reader: ByteReader): void {
  for (let left = reader.unsigned(); left > 0; left -= 1) skip(reader)
}

/** A type, and whether its value can be changed. */
function skipField(reader: ByteReader): void {
  skipValueType(reader)
  reader.skip(1)
}

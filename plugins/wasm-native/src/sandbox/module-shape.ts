import { ByteReader } from './byte-reader.ts'
import { type ModuleImport, readImportSection } from './import-section.ts'
import { type Extent, type MemoryExtent, readMemory, readTable } from './limits.ts'
import { type NumericType, readFunctionType, readTypeSection } from './type-section.ts'

/** https://webassembly.github.io/spec/core/binary/modules.html */
const headerBytes = 8
const magic = Buffer.from('\0asm')
const Section = { type: 1, import: 2, function: 3, table: 4, memory: 5, export: 7 } as const
const exportedFunction = 0

/** What a module says of itself, apart from its code. */
export interface ModuleShape {
  readonly imports: readonly ModuleImport[]
  /** Of its own, in bytes. */
  readonly memories: readonly MemoryExtent[]
  /** Of its own, in elements. */
  readonly tables: readonly Extent[]
  /** The exported functions in their order, by name; null when they take or give other values than numbers. */
  readonly functions: ReadonlyMap<string, NumericType | null>
}

/**
 * Reads the shape of a module. V8 judges whether it is valid; here nothing is believed that could do harm.
 *
 * @throws RangeError when the bytes are none that can be understood
 */
export function readModuleShape(bytes: Buffer): ModuleShape {
  if (!bytes.subarray(0, magic.length).equals(magic)) throw new RangeError('It is no module.')
  const shape = { imports: [] as ModuleImport[], memories: [] as MemoryExtent[], tables: [] as Extent[] }
  let types: number[] = []
  let own: number[] = []
  const functions = new Map<string, NumericType | null>()
  const typesByPlace = new Map<number, NumericType | null>()
  const reader = new ByteReader(bytes)
  reader.skip(headerBytes)
  while (reader.more) {
    const id = reader.byte()
    const section = reader.part(reader.unsigned())
    if (id === Section.type) types = readTypeSection(section)
    if (id === Section.import) shape.imports = readImportSection(section)
    if (id === Section.function) own = readList(section, (from) => from.unsigned())
    if (id === Section.table) shape.tables = readList(section, readTable)
    if (id === Section.memory) shape.memories = readList(section, readMemory)
    if (id === Section.export) readExports(section)
  }
  return { ...shape, functions }

  function readExports(section: ByteReader): void {
    const imported = shape.imports.filter(({ kind }) => kind === 'function').map(({ type }) => type ?? -1)
    for (let left = section.unsigned(); left > 0; left -= 1) {
      const name = section.name()
      const kind = section.byte()
      const index = section.unsigned()
      if (kind !== exportedFunction) continue
      const type = index < imported.length ? imported[index] : own[index - imported.length]
      functions.set(name, typeAt(types[type ?? -1] ?? -1))
    }
  }

  /** Many functions may have one type, which may be long. */
  function typeAt(place: number): NumericType | null {
    let type = typesByPlace.get(place)
    if (type === undefined) {
      type = place < 0 ? null : readFunctionType(new ByteReader(bytes, place))
      typesByPlace.set(place, type)
    }
    return type
  }
}

function readList<T>(reader: ByteReader, read: (reader: ByteReader) => T): T[] {
  const list: T[] = []
  for (let left = reader.unsigned(); left > 0; left -= 1) list.push(read(reader))
  return list
}

import type { ByteReader } from './byte-reader.ts'
import { readMemory, readTable } from './limits.ts'
import { skipValueType } from './value-types.ts'

/** https://webassembly.github.io/spec/core/binary/modules.html#import-section */
const kinds = ['function', 'table', 'memory', 'global', 'tag'] as const

export interface ModuleImport {
  readonly module: string
  readonly name: string
  readonly kind: (typeof kinds)[number]
  /** The number of a function's type. */
  readonly type: number | null
}

export function readImportSection(reader: ByteReader): ModuleImport[] {
  const imports: ModuleImport[] = []
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    const module = reader.name()
    const name = reader.name()
    const code = reader.byte()
    const kind = kinds[code]
    if (kind === undefined) throw new RangeError(`The import ${code} is unknown.`)
    imports.push({ module, name, kind, type: readDescription(kind, reader) })
  }
  return imports
}

function readDescription(kind: ModuleImport['kind'], reader: ByteReader): number | null {
  if (kind === 'function') return reader.unsigned()
  if (kind === 'table') readTable(reader)
  if (kind === 'memory') readMemory(reader)
  if (kind === 'global') {
    skipValueType(reader)
    reader.skip(1)
  }
  if (kind === 'tag') {
    reader.skip(1)
    reader.skipInteger()
  }
  return null
}

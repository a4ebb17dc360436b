import type { ByteReader } from './byte-reader.ts'
import { skipConstantExpression } from './constant-expression.ts'
import { skipValueType } from './value-types.ts'

const hasMaximum = 1
const isShared = 2
const hasPageSize = 8
const usualPageBytes = 65_536
/** A table with a first value begins so, where others have the type of their elements. */
const WITH_VALUE = 0x40

/** How much of something there is at first, and at most; `null` when the module does not say. */
export interface Extent {
  readonly initial: number
  readonly maximum: number | null
}

/** That of a memory, in bytes. */
export interface MemoryExtent extends Extent {
  /** Whether threads could share it, so that a function may wait for a change in it. */
  readonly shared: boolean
}

/** Reads the limits of a memory. */
export function readMemory(reader: ByteReader): MemoryExtent {
  const { flags, initial, maximum } = readLimits(reader)
  const pageBytes = (flags & hasPageSize) === 0 ? usualPageBytes : 2 ** reader.unsigned()
  return {
    initial: initial * pageBytes,
    maximum: maximum === null ? null : maximum * pageBytes,
    shared: (flags & isShared) !== 0,
  }
}

/** Reads the limits of a table, in elements. */
export function readTable(reader: ByteReader): Extent {
  const start = reader.at
  const withValue = reader.byte() === WITH_VALUE
  if (withValue) reader.skip(1)
  else reader.at = start
  skipValueType(reader)
  const { initial, maximum } = readLimits(reader)
  if (withValue) skipConstantExpression(reader)
  return { initial, maximum }
}

function readLimits(reader: ByteReader): Extent & { readonly flags: number } {
  const flags = reader.byte()
  const initial = reader.unsigned()
  return { flags, initial, maximum: (flags & hasMaximum) === 0 ? null : reader.unsigned() }
}

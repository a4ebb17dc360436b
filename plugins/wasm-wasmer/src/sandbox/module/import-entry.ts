import type { ByteReader } from './byte-reader.ts'

const hasMaximum = 1
/** Types of references that are followed by the type that they refer to. */
const typed = [0x63, 0x64]

/** Skips what an import says of what it imports, which is no memory. The reader is behind the kind. */
export function skipImport(kind: number, reader: ByteReader): void {
  if (kind === 0) reader.unsigned()
  else if (kind === 1) {
    skipValueType(reader)
    const flags = reader.byte()
    reader.unsigned()
    if ((flags & hasMaximum) !== 0) reader.unsigned()
  } else if (kind === 3) {
    skipValueType(reader)
    reader.byte()
  } else {
    reader.byte()
    reader.unsigned()
  }
}

function skipValueType(reader: ByteReader): void {
  // What follows is a signed number, which is as long as an unsigned one.
  if (typed.includes(reader.byte())) reader.unsigned()
}

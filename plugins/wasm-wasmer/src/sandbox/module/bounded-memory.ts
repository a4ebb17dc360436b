import { OutOfMemory, Refusal } from '../refusal.ts'
import { ByteReader, leb } from './byte-reader.ts'
import { skipImport } from './import-entry.ts'

const importSection = 2
const memorySection = 5
const memoryKind = 2
const hasMaximum = 1
const is64Bit = 4
const hasPageSize = 8
const usualPageBytes = 65_536
/** What addresses of 32 bits reach. A larger maximum makes a module invalid. */
const largestBytes = 2 ** 32

/**
 * The same module, with memories that cannot become larger than they may: what a program asks for beyond that is
 * refused to it, as on a machine that has no more.
 *
 * @param bytes a valid module
 * @param memoryBytes how large its memories may become in all
 * @throws OutOfMemory when they are larger from the beginning
 * @throws Refusal for memories of 64 bits, which Wasmer cannot run here
 */
export function boundMemory(bytes: Buffer, memoryBytes: number): Buffer {
  const room = { bytes: memoryBytes }
  const reader = new ByteReader(bytes)
  const parts: Uint8Array[] = [reader.part(8).bytes]
  while (!reader.ended) {
    const start = reader.at
    const id = reader.byte()
    const content = reader.part(reader.unsigned())
    const change = id === importSection ? boundImports : id === memorySection ? boundMemories : null
    if (change === null) parts.push(bytes.subarray(start, reader.at))
    else {
      const changed = change(content, room)
      parts.push(Buffer.from([id, ...leb(changed.length)]), changed)
    }
  }
  return Buffer.concat(parts)
}

/** What is left for memories. */
interface Room {
  bytes: number
}

function boundMemories(reader: ByteReader, room: Room): Buffer {
  const count = reader.unsigned()
  const memories = Array.from({ length: count }, () => boundLimits(reader, room))
  return Buffer.from([...leb(count), ...memories.flat()])
}

function boundImports(reader: ByteReader, room: Room): Buffer {
  const count = reader.unsigned()
  const parts: Uint8Array[] = [Buffer.from(leb(count))]
  for (let index = 0; index < count; index += 1) {
    const start = reader.at
    for (const _name of ['module', 'field']) reader.part(reader.unsigned())
    const kind = reader.byte()
    parts.push(reader.bytes.subarray(start, reader.at))
    const descriptor = reader.at
    if (kind === memoryKind) parts.push(Buffer.from(boundLimits(reader, room)))
    else {
      skipImport(kind, reader)
      parts.push(reader.bytes.subarray(descriptor, reader.at))
    }
  }
  return Buffer.concat(parts)
}

/** Each memory may have what the ones before it leave. */
function boundLimits(reader: ByteReader, room: Room): number[] {
  const flags = reader.byte()
  if ((flags & is64Bit) !== 0) {
    throw new Refusal(
      'VALIDATION_ERROR',
      'The module has a memory with 64-bit addresses. Programs are run only with 32-bit ones: build it for wasm32.',
    )
  }
  const initial = reader.unsigned()
  const asked = (flags & hasMaximum) === 0 ? Number.POSITIVE_INFINITY : reader.unsigned()
  const pageSize = (flags & hasPageSize) === 0 ? null : reader.unsigned()
  const pageBytes = pageSize === null ? usualPageBytes : 2 ** pageSize
  const maximum = Math.min(asked, Math.floor(Math.min(room.bytes, largestBytes) / pageBytes))
  if (initial > maximum) throw new OutOfMemory()
  room.bytes -= initial * pageBytes
  return [flags | hasMaximum, ...leb(initial), ...leb(maximum), ...(pageSize === null ? [] : leb(pageSize))]
}

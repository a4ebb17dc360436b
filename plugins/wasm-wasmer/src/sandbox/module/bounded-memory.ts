import { ByteReader, encodeUnsigned } from '@nodekeep/plugin-sdk/wasm-binary'
import { OutOfMemory, Refusal } from '../refusal.ts'

const headerBytes = 8
const importSection = 2
const memorySection = 5
const functionKind = 0
const tableKind = 1
const memoryKind = 2
const globalKind = 3
/** Reference types that are followed by the type that they refer to. */
const typedReferences = [0x63, 0x64]
const hasMaximum = 1
const is64Bit = 4
const hasPageSize = 8
const usualPageBytes = 65_536
/** A larger maximum of a memory with 32-bit addresses makes a module invalid. */
const largestBytes = 2 ** 32

/**
 * Returns the same module with lower maxima of its memories: a program that asks for more is refused it, as on a machine
 * that has no more.
 *
 * @param bytes a valid module
 * @param memoryBytes limit for its memories
 * @throws OutOfMemory when the initial memories exceed the limit
 * @throws Refusal for memories with 64-bit addresses, which Wasmer cannot run here
 */
export function boundMemory(bytes: Buffer, memoryBytes: number): Buffer {
  const remaining = { bytes: memoryBytes }
  const reader = new ByteReader(bytes)
  reader.skip(headerBytes)
  const parts: Uint8Array[] = [bytes.subarray(0, headerBytes)]
  while (reader.more) {
    const start = reader.at
    const id = reader.byte()
    const content = reader.part(reader.unsigned())
    const change = id === importSection ? boundImports : id === memorySection ? boundMemories : null
    if (change === null) parts.push(bytes.subarray(start, reader.at))
    else {
      const changed = change(content, remaining)
      parts.push(Buffer.from([id, ...encodeUnsigned(changed.length)]), changed)
    }
  }
  return Buffer.concat(parts)
}

/** Bytes that are left for memories. */
interface Remaining {
  bytes: number
}

function boundMemories(reader: ByteReader, remaining: Remaining): Buffer {
  const count = reader.unsigned()
  const memories = Array.from({ length: count }, () => boundLimits(reader, remaining))
  return Buffer.from([...encodeUnsigned(count), ...memories.flat()])
}

function boundImports(reader: ByteReader, remaining: Remaining): Buffer {
  const count = reader.unsigned()
  const parts: Uint8Array[] = [Buffer.from(encodeUnsigned(count))]
  for (let index = 0; index < count; index += 1) {
    const start = reader.at
    for (const _name of ['module', 'field']) reader.name()
    const kind = reader.byte()
    parts.push(reader.bytes.subarray(start, reader.at))
    const descriptor = reader.at
    if (kind === memoryKind) parts.push(Buffer.from(boundLimits(reader, remaining)))
    else {
      skipImport(kind, reader)
      parts.push(reader.bytes.subarray(descriptor, reader.at))
    }
  }
  return Buffer.concat(parts)
}

/** Each memory gets what the initial sizes of those before it leave. */
function boundLimits(reader: ByteReader, remaining: Remaining): number[] {
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
  const maximum = Math.min(asked, Math.floor(Math.min(remaining.bytes, largestBytes) / pageBytes))
  if (initial > maximum) throw new OutOfMemory()
  remaining.bytes -= initial * pageBytes
  return [
    flags | hasMaximum,
    ...encodeUnsigned(initial),
    ...encodeUnsigned(maximum),
    ...(pageSize === null ? [] : encodeUnsigned(pageSize)),
  ]
}

/** Passes over the description of an import that is not a memory. */
function skipImport(kind: number, reader: ByteReader): void {
  if (kind === functionKind) reader.unsigned()
  else if (kind === tableKind) {
    skipValueType(reader)
    const flags = reader.byte()
    reader.unsigned()
    if ((flags & hasMaximum) !== 0) reader.unsigned()
  } else if (kind === globalKind) {
    skipValueType(reader)
    reader.skip(1)
  } else {
    reader.skip(1)
    reader.unsigned()
  }
}

function skipValueType(reader: ByteReader): void {
  if (typedReferences.includes(reader.byte())) reader.skipInteger()
}

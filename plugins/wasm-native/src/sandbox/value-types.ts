import type { WasmValueType } from '@nodekeep/plugin-sdk'
import type { ByteReader } from './byte-reader.ts'

/** Numeric types: https://webassembly.github.io/spec/core/binary/types.html */
const numeric: Readonly<Record<number, WasmValueType>> = { 127: 'i32', 126: 'i64', 125: 'f32', 124: 'f64' }
const ref = 0x64
const refNull = 0x63

/** Reads a value type. Those that are no plain numbers are null. */
export function readValueType(reader: ByteReader): WasmValueType | null {
  const code = reader.byte()
  if (code === ref || code === refNull) reader.skipInteger()
  return numeric[code] ?? null
}

/** Passes over a value type. */
export function skipValueType(reader: ByteReader): void {
  const code = reader.byte()
  if (code === ref || code === refNull) reader.skipInteger()
}

/** Reads a list of value types; null when one of them is no plain number. */
export function readNumericTypes(reader: ByteReader): WasmValueType[] | null {
  const types: WasmValueType[] = []
  let plain = true
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    const type = readValueType(reader)
    if (type === null) plain = false
    else types.push(type)
  }
  return plain ? types : null
}

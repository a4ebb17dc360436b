/** Types in WebAssembly's binary format: https://webassembly.github.io/spec/core/binary/types.html */
import type { WasmValueType } from '../../contracts/wasm.ts'
import type { ByteReader } from './byte-reader.ts'

const numeric: Readonly<Record<number, WasmValueType>> = { 127: 'i32', 126: 'i64', 125: 'f32', 124: 'f64' }
const typedReferences = [0x63, 0x64]

const hasMaximum = 1
const hasPageSize = 8
/** The first byte of a table with an initial value. Other tables begin with the type of their elements. */
const withInitialValue = 0x40

const end = 0x0b
const i32Const = 0x41
const i64Const = 0x42
const f32Const = 0x43
const f64Const = 0x44
const globalGet = 0x23
const refNull = 0xd0
const refFunc = 0xd2
const gc = 0xfb
const arrayNewFixed = 8
const firstWithoutType = 0x1a
const vector = 0xfd

/** The largest page of a memory, as a power of two: 64 KiB. The proposal for custom page sizes allows smaller ones. */
const largestPageExponent = 16

/** Parameters and results of a function whose values are all numbers. */
export interface NumericType {
  readonly parameters: readonly WasmValueType[]
  readonly results: readonly WasmValueType[]
}

/** Initial and largest size of a memory or table. `maximum` is null when the module does not declare one. */
export interface Extent {
  readonly initial: number
  readonly maximum: number | null
}

/** Passes over a value type. */
export function skipValueType(reader: ByteReader): void {
  readValueType(reader)
}

/** Reads the parameters and results of a function. Returns null when they are not all numbers. */
export function readFunctionType(reader: ByteReader): NumericType | null {
  const parameters = reader.list(readValueType)
  const results = reader.list(readValueType)
  return areNumeric(parameters) && areNumeric(results) ? { parameters, results } : null
}

/** Reads the limits of a memory, in bytes. */
export function readMemory(reader: ByteReader): Extent {
  const { flags, initial, maximum } = readLimits(reader)
  const exponent = (flags & hasPageSize) === 0 ? largestPageExponent : reader.unsigned()
  if (exponent > largestPageExponent) throw new RangeError('A memory has pages that are too large.')
  const pageBytes = 2 ** exponent
  return { initial: initial * pageBytes, maximum: maximum === null ? null : maximum * pageBytes }
}

/** Reads the limits of a table, in elements. */
export function readTable(reader: ByteReader): Extent {
  const start = reader.at
  const hasInitialValue = reader.byte() === withInitialValue
  if (hasInitialValue) reader.skip(1)
  else reader.at = start
  skipValueType(reader)
  const { initial, maximum } = readLimits(reader)
  if (hasInitialValue) skipConstantExpression(reader)
  return { initial, maximum }
}

function readValueType(reader: ByteReader): WasmValueType | null {
  const code = reader.byte()
  if (typedReferences.includes(code)) reader.skipInteger()
  return numeric[code] ?? null
}

function areNumeric(types: readonly (WasmValueType | null)[]): types is WasmValueType[] {
  return !types.includes(null)
}

function readLimits(reader: ByteReader): Extent & { readonly flags: number } {
  const flags = reader.byte()
  const initial = reader.unsigned()
  return { flags, initial, maximum: (flags & hasMaximum) === 0 ? null : reader.unsigned() }
}

/**
 * Passes over a constant expression. Its arithmetic instructions have no operands.
 *
 * @see https://webassembly.github.io/spec/core/binary/instructions.html
 */
function skipConstantExpression(reader: ByteReader): void {
  for (let code = reader.byte(); code !== end; code = reader.byte()) {
    if ([i32Const, i64Const, globalGet, refNull, refFunc].includes(code)) reader.skipInteger()
    else if (code === f32Const) reader.skip(4)
    else if (code === f64Const) reader.skip(8)
    else if (code === gc) skipReferenceOperands(reader)
    else if (code === vector) {
      reader.skipInteger()
      reader.skip(16)
    }
  }
}

/** Instructions for structs and arrays name a type, and those for arrays of fixed length a length. */
function skipReferenceOperands(reader: ByteReader): void {
  const code = reader.unsigned()
  if (code < firstWithoutType) reader.skipInteger()
  if (code === arrayNewFixed) reader.skipInteger()
}

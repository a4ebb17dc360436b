import type { WasmValueType } from '@nodekeep/plugin-sdk'
import type { ByteReader } from './byte-reader.ts'
import { readNumericTypes, skipValueType } from './value-types.ts'

/** https://webassembly.github.io/spec/core/binary/types.html */
const rec = 0x4e
const sub = 0x50
const subFinal = 0x4f
const array = 0x5e
const struct = 0x5f
const FUNCTION = 0x60

/** Parameters and results of a function whose values are all plain numbers. */
export interface NumericType {
  readonly parameters: readonly WasmValueType[]
  readonly results: readonly WasmValueType[]
}

/**
 * Reads where each function type stands. A hostile module has a million types with a thousand parameters each, so
 * that only those that somebody asks for are read.
 *
 * @returns for each type its place in the section, or -1 when it is no function
 */
export function readTypeSection(reader: ByteReader): number[] {
  const places: number[] = []
  for (let left = reader.unsigned(); left > 0; left -= 1) readRecursive(reader, places)
  return places
}

/** Reads the function type at a place; null when it has other values than plain numbers. */
export function readFunctionType(reader: ByteReader): NumericType | null {
  const parameters = readNumericTypes(reader)
  const results = readNumericTypes(reader)
  return parameters === null || results === null ? null : { parameters, results }
}

function readRecursive(reader: ByteReader, places: number[]): void {
  const form = reader.byte()
  if (form !== rec) readSubtype(form, reader, places)
  else for (let left = reader.unsigned(); left > 0; left -= 1) readSubtype(reader.byte(), reader, places)
}

function readSubtype(form: number, reader: ByteReader, places: number[]): void {
  const extendable = form === sub || form === subFinal
  if (extendable) for (let left = reader.unsigned(); left > 0; left -= 1) reader.skipInteger()
  readComposite(extendable ? reader.byte() : form, reader, places)
}

function readComposite(form: number, reader: ByteReader, places: number[]): void {
  places.push(form === FUNCTION ? reader.at : -1)
  if (form === FUNCTION) {
    skipValueTypes(reader)
    skipValueTypes(reader)
  } else if (form === struct) {
    for (let left = reader.unsigned(); left > 0; left -= 1) skipField(reader)
  } else if (form === array) skipField(reader)
  else throw new RangeError(`The type ${form} is unknown.`)
}

function skipValueTypes(reader: ByteReader): void {
  for (let left = reader.unsigned(); left > 0; left -= 1) skipValueType(reader)
}

/** The type, and whether it can be changed. */
function skipField(reader: ByteReader): void {
  skipValueType(reader)
  reader.skip(1)
}

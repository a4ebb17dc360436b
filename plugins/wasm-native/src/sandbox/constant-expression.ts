import type { ByteReader } from './byte-reader.ts'

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

/**
 * Passes over a constant expression. The arithmetic among its instructions has nothing behind the opcode.
 * https://webassembly.github.io/spec/core/binary/instructions.html
 */
export function skipConstantExpression(reader: ByteReader): void {
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

/** Structs and arrays name their type, and arrays of fixed length their length. */
function skipReferenceOperands(reader: ByteReader): void {
  const code = reader.unsigned()
  if (code < firstWithoutType) reader.skipInteger()
  if (code === arrayNewFixed) reader.skipInteger()
}

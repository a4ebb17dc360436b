import type { ByteReader } from './byte-reader.ts'

const END = 0x0b
const I32_CONST = 0x41
const I64_CONST = 0x42
const F32_CONST = 0x43
const F64_CONST = 0x44
const GLOBAL_GET = 0x23
const REF_NULL = 0xd0
const REF_FUNC = 0xd2
const GC = 0xfb
const ARRAY_NEW_FIXED = 8
const FIRST_WITHOUT_TYPE = 0x1a
const VECTOR = 0xfd

/**
 * Passes over a constant expression. The arithmetic among its instructions has nothing behind the opcode.
 * https://webassembly.github.io/spec/core/binary/instructions.html
 */
export function skipConstantExpression(reader: ByteReader): void {
  for (let code = reader.byte(); code !== END; code = reader.byte()) {
    if ([I32_CONST, I64_CONST, GLOBAL_GET, REF_NULL, REF_FUNC].includes(code)) reader.skipInteger()
    else if (code === F32_CONST) reader.skip(4)
    else if (code === F64_CONST) reader.skip(8)
    else if (code === GC) skipReferenceOperands(reader)
    else if (code === VECTOR) {
      reader.skipInteger()
      reader.skip(16)
    }
  }
}

/** Structs and arrays name their type, and arrays of fixed length their length. */
function skipReferenceOperands(reader: ByteReader): void {
  const code = reader.unsigned()
  if (code < FIRST_WITHOUT_TYPE) reader.skipInteger()
  if (code === ARRAY_NEW_FIXED) reader.skipInteger()
}

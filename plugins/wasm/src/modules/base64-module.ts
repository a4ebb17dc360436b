import { hash } from 'node:crypto'
import { NodekeepError, type WasmModule } from '@nodekeep/plugin-sdk'
import { decodeBase64 } from './base64.ts'
import { moduleTooLarge } from './module-failures.ts'

/**
 * Reads a module from base64 (RFC 4648, section 4): the common alphabet, padded, and nothing else in between.
 *
 * @param most bytes that the module may have
 * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE
 */
export function moduleFromBase64(text: string, most: number): WasmModule {
  const bytes = decodeBase64(text)
  if (bytes === undefined) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      '"wasmBytes" is not valid base64. It must be padded, and have no line breaks.',
    )
  }
  if (bytes.length > most) throw moduleTooLarge(most, bytes.length)
  return { hash: hash('sha256', bytes), size: bytes.length, bytes: async () => bytes }
}

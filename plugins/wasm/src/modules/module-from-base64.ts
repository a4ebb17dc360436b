import { hash } from 'node:crypto'
import { NodekeepError, type WasmModule } from '@nodekeep/plugin-sdk'
import { decodeBase64 } from '../base64.ts'
import { moduleTooLarge } from './stored-modules.ts'

/**
 * Reads a module that a request brings along, from padded base64 without line breaks.
 *
 * @param mostBytes bytes that the module may have
 * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE
 */
export function moduleFromBase64(text: string, mostBytes: number): WasmModule {
  const bytes = decodeBase64(text)
  if (bytes === undefined) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      '"wasmBytes" is not valid base64. It must be padded, and have no line breaks.',
    )
  }
  if (bytes.length > mostBytes) throw moduleTooLarge(mostBytes, bytes.length)
  return { hash: hash('sha256', bytes), size: bytes.length, bytes: async () => bytes }
}

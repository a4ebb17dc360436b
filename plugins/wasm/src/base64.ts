import { hash } from 'node:crypto'
import { NodekeepError, type WasmModule } from '@nodekeep/plugin-sdk'
import { moduleTooLarge } from './modules/stored-modules.ts'

/** Decodes padded base64 of the common alphabet (RFC 4648, section 4). Returns undefined for anything else. */
export function decodeBase64(text: string): Buffer | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  // Node skips other characters, and also accepts the alphabet for URLs.
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== (text.length / 4) * 3 - padding) return undefined
  // The last character's bits beyond the last byte must be zero.
  const last = bytes.subarray(bytes.length - (bytes.length % 3 || 3))
  return text.endsWith(last.toString('base64')) ? bytes : undefined
}

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

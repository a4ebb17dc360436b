import { createHash } from 'node:crypto'
import type { WasmModule } from '../../contracts/wasm.ts'

/** A module that the suite brings along, so that nobody needs a compiler to run it. */
export interface Sample {
  /** The module in the text format, which a test translates. */
  readonly wat: string
  readonly base64: string
}

/** The module of a sample. */
export function moduleOf({ base64 }: Sample): WasmModule {
  return moduleOfBytes(Buffer.from(base64, 'base64'))
}

export function moduleOfBytes(bytes: Uint8Array): WasmModule {
  const hash = createHash('sha256').update(bytes).digest('hex')
  return { hash, size: bytes.length, bytes: async () => bytes }
}

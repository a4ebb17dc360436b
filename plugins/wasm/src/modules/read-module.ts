import { createHash } from 'node:crypto'
import type { UserFiles } from '@nodekeep/plugin-sdk'
import { moduleChanged, moduleTooLarge } from './module-failures.ts'

/** A module as it was read from a file. */
export interface ReadModule {
  readonly revision: string
  /** SHA-256, as lower case hexadecimal digits. */
  readonly hash: string
  readonly bytes: Uint8Array
}

/**
 * Reads a file whole, and hashes it on the way.
 *
 * @param most bytes that it may have
 */
export async function readModule(
  files: UserFiles,
  path: string,
  most: number,
  signal: AbortSignal,
): Promise<ReadModule> {
  const { entry, content } = await files.read(path, { reuseBuffers: true, signal })
  const bytes = Buffer.allocUnsafeSlow(Math.min(entry.size, most))
  const hashing = createHash('sha256')
  let length = 0
  for await (const chunk of content) {
    if (entry.size > most) throw moduleTooLarge(most, entry.size)
    if (length + chunk.length > entry.size) throw moduleChanged()
    bytes.set(chunk, length)
    length += chunk.length
    hashing.update(chunk)
  }
  if (length < entry.size) throw moduleChanged()
  return { revision: entry.revision, hash: hashing.digest('hex'), bytes }
}

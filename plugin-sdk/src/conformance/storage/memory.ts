import assert from 'node:assert/strict'
import { createHash, type Hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { heapInUse } from '../../collect-heap.ts'
import type { StorageBackend } from '../../contracts/storage.ts'
import { pattern } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

const mebibyte = 1024 * 1024
const chunkBytes = mebibyte / 4
const fileBytes = 80 * mebibyte
/** Most memory that a backend needs for one file, such as for parts that wait for their server. */
const mostHeld = 64 * mebibyte
/** Memory is measured when this much of the file was passed on: nearly all, but not the end, at which a backend may free everything. */
const measuredAfter = 72 * mebibyte

/**
 * @param bytesInMemory returns the bytes of content that the server of a backend holds in this process; null for a storage that keeps
 *   its files in memory itself
 */
export function memoryChecks(
  check: BackendCheck,
  bytesInMemory: ((backend: StorageBackend) => number) | null,
): void {
  check('a large file is never held in memory as a whole', async (backend, skip) => {
    if (bytesInMemory === null) return skip('The storage keeps its files in memory.')
    const inUse = () => heapInUse() - bytesInMemory(backend)
    const written = createHash('sha256')
    const writing = await HeldMemory.begin(inUse)
    await backend.write(
      '/large',
      largeContent(written, () => writing.check('were written')),
      { size: fileBytes, freeChunks: true },
    )
    const read = createHash('sha256')
    const reading = await HeldMemory.begin(inUse)
    const { content } = await backend.read('/large', { reuseBuffers: true })
    let passed = 0
    for await (const chunk of content) {
      if (passed === 0) await reading.check('were requested')
      read.update(chunk)
      const before = passed
      passed += chunk.length
      if (before < measuredAfter && passed >= measuredAfter) await reading.check('were read')
    }
    assert.equal(read.digest('hex'), written.digest('hex'), 'the file has the bytes that were written')
  })
}

/** The memory that a backend holds more than at first. It is measured while nothing arrives and nothing is requested. */
class HeldMemory {
  readonly #inUse: () => number
  readonly #before: number

  private constructor(inUse: () => number, before: number) {
    this.#inUse = inUse
    this.#before = before
  }

  /** Waits until the memory of what ran before is free. */
  static async begin(inUse: () => number): Promise<HeldMemory> {
    let before = inUse()
    for (let isFree = false; !isFree; ) {
      await setImmediate()
      const now = inUse()
      isFree = now > before - mebibyte
      before = Math.min(before, now)
    }
    return new HeldMemory(inUse, before)
  }

  async check(what: string): Promise<void> {
    let held = Number.POSITIVE_INFINITY
    for (let round = 0; round < 5 && held > mostHeld; round += 1) {
      await setImmediate()
      held = this.#inUse() - this.#before
    }
    const [more, most] = [held, mostHeld].map((bytes) => `${Math.ceil(bytes / mebibyte)} MiB`)
    assert.ok(
      held <= mostHeld,
      `when bytes of a large file ${what}, the backend holds ${more}, and at most ${most} are needed`,
    )
  }
}

/** Yields a large content, each chunk in memory of its own and with its number. */
async function* largeContent(hash: Hash, measure: () => Promise<void>): AsyncIterable<Uint8Array> {
  const bytes = pattern(chunkBytes)
  for (let passed = 0; passed < fileBytes; passed += chunkBytes) {
    if (passed === measuredAfter) await measure()
    const chunk = Uint8Array.from(bytes)
    new DataView(chunk.buffer).setUint32(0, passed / chunkBytes)
    hash.update(chunk)
    yield chunk
  }
}

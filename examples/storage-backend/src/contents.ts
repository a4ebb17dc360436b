import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { interruptible, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Database } from './database.ts'
import type { Staged } from './tree.ts'

const chunkSize = 256 * 1024

/** Yields a range of a content, chunk by chunk. `end` is inclusive. */
export async function* readContent(
  connection: DatabaseSync,
  content: number,
  start: number,
  end: number,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const chunk = connection.prepare('SELECT bytes FROM chunk WHERE content = ? AND position = ?')
  for (let position = start - (start % chunkSize); position <= end; position += chunkSize) {
    signal.throwIfAborted()
    const { bytes } = chunk.get(content, position) as { bytes: Uint8Array }
    yield bytes.subarray(Math.max(start - position, 0), end - position + 1)
  }
}

/** Stores contents, and deletes them when no file and no reader needs them any more. */
export class Contents {
  readonly #database: Database
  readonly #create: StatementSync
  readonly #append: StatementSync
  readonly #delete: StatementSync
  readonly #readers = new Map<number, number>()
  readonly #orphans = new Set<number>()

  constructor(database: Database) {
    this.#database = database
    this.#create = database.connection.prepare('INSERT INTO content DEFAULT VALUES')
    this.#append = database.connection.prepare(
      'INSERT INTO chunk (content, position, bytes) VALUES (?, ?, ?)',
    )
    this.#delete = database.connection.prepare('DELETE FROM content WHERE id = ?')
  }

  /** Stores a whole stream, or nothing. */
  async stage(
    stream: AsyncIterable<Uint8Array>,
    announced: number | undefined,
    signal: AbortSignal,
  ): Promise<Staged> {
    const content = this.#database.deferredTransaction(() => Number(this.#create.run().lastInsertRowid))
    let size = 0
    try {
      for await (const chunk of ofOneSize(interruptible(stream, signal))) {
        this.#database.deferredTransaction(() => this.#append.run(content, size, chunk))
        size += chunk.length
        if (announced !== undefined && size > announced) break
      }
      if (announced === undefined || announced === size) return { content, size }
      throw new NodekeepError(
        'VALIDATION_ERROR',
        `The content does not have the ${announced} bytes announced.`,
      )
    } catch (error) {
      this.drop([content])
      throw error
    }
  }

  /** Yields a content that is held, and releases it at the end. It exists until then, even if its file is removed. */
  async *read(content: number, start: number, end: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    try {
      yield* readContent(this.#database.connection, content, start, end, signal)
    } finally {
      this.release(content)
    }
  }

  hold(content: number): void {
    this.#readers.set(content, (this.#readers.get(content) ?? 0) + 1)
  }

  release(content: number): void {
    const others = (this.#readers.get(content) ?? 1) - 1
    if (others > 0) this.#readers.set(content, others)
    else {
      this.#readers.delete(content)
      if (this.#orphans.delete(content)) this.drop([content])
    }
  }

  /** Deletes contents that are no longer in the tree, at once or when their readers have ended. */
  drop(contents: readonly number[]): void {
    for (const content of contents) {
      if (this.#readers.has(content)) this.#orphans.add(content)
      // If the database is closed, its next start deletes them.
      else if (this.#database.connection.isOpen)
        this.#database.deferredTransaction(() => this.#delete.run(content))
    }
  }
}

async function* ofOneSize(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let filled = 0
  let chunk = new Uint8Array(chunkSize)
  for await (const bytes of stream) {
    for (let offset = 0; offset < bytes.length; ) {
      const piece = bytes.subarray(offset, offset + chunkSize - filled)
      chunk.set(piece, filled)
      offset += piece.length
      filled += piece.length
      if (filled < chunkSize) continue
      yield chunk
      chunk = new Uint8Array(chunkSize)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

import { Duplex } from 'node:stream'

/**
 * A stream of bytes in the form of a socket, as the HTTP server needs it: with a time limit for silence and a count of the bytes.
 * It passes chunks on as they are, and reads and writes only as fast as both sides take them.
 */
export class StreamSocket extends Duplex {
  /** Bytes that have arrived. */
  bytesRead = 0
  /** Bytes that were passed on. */
  bytesWritten = 0
  readonly #stream: Duplex
  #silence: NodeJS.Timeout | undefined

  constructor(stream: Duplex) {
    super({ allowHalfOpen: true })
    this.#stream = stream
    stream.on('data', (chunk: Buffer) => {
      this.bytesRead += chunk.length
      this.#silence?.refresh()
      if (!this.push(chunk)) stream.pause()
    })
    stream.pause()
    stream.once('end', () => {
      this.push(null)
      // Node's sockets emit "end" even if nobody reads.
      this.read(0)
    })
    stream.on('error', (error) => this.destroy(error))
    stream.once('close', () => {
      // After a proper end, a last chunk may still be in the buffer.
      if (!stream.readableEnded || !stream.writableFinished) this.destroy()
    })
  }

  /**
   * Emits `timeout` when nothing has moved in either direction for a time.
   *
   * @param ms milliseconds; 0 for no limit
   */
  setTimeout(ms: number): this {
    clearTimeout(this.#silence)
    this.#silence = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined
    return this
  }

  /** Destroys the socket when everything that was written has been passed on. */
  destroySoon(): void {
    this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#silence?.refresh()
    this.bytesWritten += chunk.length
    this.#stream.write(chunk, encoding, this.#passedOn(done))
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#silence?.refresh()
    const stream = this.#stream
    stream.cork()
    for (const [index, { chunk, encoding }] of chunks.entries()) {
      this.bytesWritten += chunk.length
      if (index < chunks.length - 1) stream.write(chunk, encoding)
      else stream.write(chunk, encoding, this.#passedOn(done))
    }
    stream.uncork()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#silence)
    this.#stream.destroy()
    done(error)
  }

  #passedOn(done: (error?: Error | null) => void) {
    return (error?: Error | null) => {
      this.#silence?.refresh()
      done(error)
    }
  }
}

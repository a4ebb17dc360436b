import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { invalid, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { fileTooLarge, limited } from '../operations/writing.ts'
import { decodeUtf8 } from './request.ts'
import { formOverhead } from './schemas.ts'
import type { Spool } from './spool.ts'

/** Bytes of the part `path`. It is longer than the longest path, so that a longer path gets an error that says so. */
const longestField = 16 * 1024

/** A form with one file and the path at which to store it. */
interface UploadForm {
  readonly path: string
  /** The bytes of the file. They end when the whole form has arrived and is valid, and fail otherwise. */
  readonly content: AsyncIterable<Uint8Array>
  /** Discards what was not read. */
  close(): Promise<void>
}

/**
 * Receives a form with the parts `path` and `file`, in any order. A file that arrives before its path waits on the disk,
 * never in memory.
 *
 * @param maxFileSize in bytes
 * @throws NodekeepError VALIDATION_ERROR for any other form, PAYLOAD_TOO_LARGE
 */
export async function receiveForm(
  request: IncomingMessage,
  spool: Spool,
  maxFileSize: number,
): Promise<UploadForm> {
  const parts = new FormParts(request, maxFileSize)
  try {
    const file = await parts.file
    if (parts.path !== null) return { path: parts.path, content: file, close: async () => parts.close() }
    const spooled = await spool(limited(file, maxFileSize))
    const close = () => spooled.discard()
    if (parts.path !== null) return { path: parts.path, content: spooled.content(), close }
    await close()
    throw invalid(missingPath)
  } catch (error) {
    parts.close()
    throw error
  }
}

const missingPath = 'The form has no part "path" with the path of the file.'

/** Parses a form of `multipart/form-data` while it arrives (RFC 7578). */
class FormParts {
  readonly #request: IncomingMessage
  readonly #maxFileSize: number
  readonly #busboy: BusboyInstance
  readonly #file = Promise.withResolvers<AsyncIterable<Uint8Array>>()
  readonly #whole = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #stream: Readable | null = null
  #pathStream: Readable | null = null
  /** Resolves when the part `path` was read, or the form has failed. */
  #pathRead: Promise<void> | null = null
  #path: string | null = null
  #isClosed = false

  constructor(request: IncomingMessage, maxFileSize: number) {
    this.#request = request
    this.#maxFileSize = maxFileSize
    this.#busboy = createBusboy(request)
    // Both are awaited later, or never.
    this.#file.promise.catch(() => {})
    this.#whole.promise.catch(() => {})
    this.#busboy.on('field', (name) => this.#fail(unknownPart(name)))
    this.#busboy.on('file', (name, stream, filename, encoding) =>
      this.#takePart(name, stream, filename, encoding),
    )
    this.#busboy.on('error', (error) => this.#fail(malformed(error)))
    this.#busboy.on('finish', () => this.#finish())
    this.#pump().catch((error) => this.#fail(error))
  }

  /** The part `path`; `null` until it has arrived. */
  get path(): string | null {
    return this.#path
  }

  /** The part `file`, once it begins. It ends when the whole form has arrived and is valid. */
  get file(): Promise<AsyncIterable<Uint8Array>> {
    return this.#file.promise
  }

  /** Stops reading the form. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closed.resolve()
    this.#stream?.destroy()
    this.#pathStream?.destroy()
  }

  #takePart(
    name: string | undefined,
    stream: BusboyFileStream,
    filename: string | undefined,
    encoding: string,
  ): void {
    stream.on('error', () => {})
    if (name !== 'path' && name !== 'file') this.#fail(unknownPart(name))
    else if ((name === 'path' ? this.#pathStream : this.#stream) !== null)
      this.#fail(invalid(`The form has several parts "${name}". Send one file per form.`))
    else if (!/^(7bit|8bit|binary)$/.test(encoding))
      this.#fail(invalid(`The part "${name}" must be sent without "content-transfer-encoding".`))
    else if (name === 'path' && filename !== undefined)
      this.#fail(invalid('The part "path" must be text, not a file.'))
    else if (name === 'path') {
      this.#pathStream = stream
      this.#pathRead = this.#readPath(stream).catch((error) => this.#fail(malformed(error)))
      return
    } else {
      this.#stream = stream
      this.#offer(stream)
      return
    }
    stream.resume()
  }

  /** Offers the file after a path that came before it was read. */
  async #offer(stream: BusboyFileStream): Promise<void> {
    await this.#pathRead
    this.#file.resolve(this.#contentOf(stream))
  }

  async #readPath(stream: BusboyFileStream): Promise<void> {
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > longestField) throw invalid('The part "path" is too long.')
      chunks.push(chunk)
    }
    const path = decodeUtf8(Buffer.concat(chunks))
    if (path === null) throw invalid('The part "path" is not valid UTF-8.')
    this.#path = path
  }

  async *#contentOf(stream: BusboyFileStream): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of stream) yield chunk
    } catch (error) {
      // The stream fails together with the form. The first failure has the reason.
      this.#fail(malformed(error))
    }
    await this.#whole.promise
  }

  async #finish(): Promise<void> {
    await this.#pathRead
    if (this.#stream === null) this.#fail(invalid('The form has no part "file" with the file.'))
    else if (this.#path === null) this.#fail(invalid(missingPath))
    else this.#whole.resolve()
  }

  /** Only the first failure takes effect. */
  #fail(error: unknown): void {
    this.#file.reject(error)
    this.#whole.reject(error)
    this.close()
  }

  async #pump(): Promise<void> {
    let size = 0
    // Leaving the loop must not end the connection, because an error is still to be sent on it.
    for await (const chunk of this.#request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > this.#maxFileSize + formOverhead) throw fileTooLarge(this.#maxFileSize)
      const taken = Promise.withResolvers<void>()
      this.#busboy.write(chunk, () => taken.resolve())
      await Promise.race([taken.promise, this.#closed.promise])
      if (this.#isClosed) return
    }
    this.#busboy.end()
  }
}

function createBusboy({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      // A part "file" without a file name is a file too. The path is read as bytes, because busboy would replace bytes
      // that are not UTF-8.
      isPartAFile: (name, _type, filename) => name === 'file' || name === 'path' || filename !== undefined,
      limits: { fieldSize: longestField, headerPairs: 64, headerSize: 16 * 1024 },
    })
  } catch (error) {
    throw malformed(error)
  }
}

function unknownPart(name: string | undefined): NodekeepError {
  const called = name === undefined ? 'a part without a name' : `the part "${name.slice(0, 100)}"`
  return invalid(`The form has ${called}, which is not supported. Send "path" and "file".`)
}

function malformed(cause: unknown): NodekeepError {
  if (isNodekeepError(cause)) return cause
  return new NodekeepError('VALIDATION_ERROR', 'The body is not a complete form of multipart/form-data.', {
    cause,
  })
}

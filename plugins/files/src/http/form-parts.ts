import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { fileTooLarge } from '../view/incoming.ts'
import { textOf } from './utf8.ts'

/** Bytes of the part `path`: the longest path, and some, so that it is told that it is too long. */
const longestField = 16 * 1024

export interface FormLimits {
  /** Bytes of the file, for the message of the error. */
  readonly maxFileSize: number
  /** Bytes of the whole form. */
  readonly maxBytes: number
}

/** Takes a form of `multipart/form-data` apart while it comes in (RFC 7578). */
export class FormParts {
  readonly #request: IncomingMessage
  readonly #limits: FormLimits
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

  constructor(request: IncomingMessage, limits: FormLimits) {
    this.#request = request
    this.#limits = limits
    this.#busboy = createBusboy(request)
    // Both are waited for later, or not at all.
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

  /** The part `path`, `null` while it has not come. */
  get path(): string | null {
    return this.#path
  }

  /** The part `file`, once it begins. Its end comes when the whole form has come and is right. */
  get file(): Promise<AsyncIterable<Uint8Array>> {
    return this.#file.promise
  }

  /** Stops taking in. */
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
      this.#fail(invalid(`The form has several parts "${name}". Send one at a time.`))
    else if (!/^(7bit|8bit|binary)$/.test(encoding))
      this.#fail(invalid(`The part "${name}" must be sent as it is.`))
    else if (name === 'path' && filename !== undefined)
      this.#fail(invalid('The part "path" must be a text, not a file.'))
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

  /** A path that came before the file is known when the file is. */
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
    const path = textOf(Buffer.concat(chunks))
    if (path === null) throw invalid('The part "path" is not valid UTF-8.')
    this.#path = path
  }

  async *#contentOf(stream: BusboyFileStream): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of stream) yield chunk
    } catch (error) {
      // The stream fails with the form, which knows why.
      this.#fail(malformed(error))
    }
    await this.#whole.promise
  }

  async #finish(): Promise<void> {
    await this.#pathRead
    if (this.#stream === null) this.#fail(invalid('The form has no part "file" with the file.'))
    else if (this.#path === null)
      this.#fail(invalid('The form has no part "path" with the path of the file.'))
    else this.#whole.resolve()
  }

  /** The first failure counts. */
  #fail(error: unknown): void {
    this.#file.reject(error)
    this.#whole.reject(error)
    this.close()
  }

  async #pump(): Promise<void> {
    let size = 0
    // Leaving the loop must not end the connection, on which the error is still to be answered.
    for await (const chunk of this.#request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > this.#limits.maxBytes) throw fileTooLarge(this.#limits.maxFileSize)
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
      // A client may leave out the name of the file: the part is the file all the same. The path comes as bytes, too:
      // decoded by busboy, those that are no text would be replaced by something that is.
      isPartAFile: (name, _type, filename) => name === 'file' || name === 'path' || filename !== undefined,
      limits: { fieldSize: longestField, headerPairs: 64, headerSize: 16 * 1024 },
    })
  } catch (error) {
    throw malformed(error)
  }
}

function unknownPart(name: string | undefined): NodekeepError {
  const called = name === undefined ? 'a part without a name' : `the part "${name.slice(0, 100)}"`
  return invalid(`The form has ${called}, which is not known. It takes "path" and "file".`)
}

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}

function malformed(cause: unknown): NodekeepError {
  if (isNodekeepError(cause)) return cause
  return new NodekeepError('VALIDATION_ERROR', 'The body is not a whole form of multipart/form-data.', {
    cause,
  })
}

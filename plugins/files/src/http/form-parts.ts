import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { fileTooLarge } from '../view/incoming.ts'

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
  #path: string | null = null
  #isClosed = false

  constructor(request: IncomingMessage, limits: FormLimits) {
    this.#request = request
    this.#limits = limits
    this.#busboy = createBusboy(request)
    // Both are waited for later, or not at all.
    this.#file.promise.catch(() => {})
    this.#whole.promise.catch(() => {})
    this.#busboy.on('field', (name, value, _nameCut, cut) => this.#takeField(name, value, cut))
    this.#busboy.on('file', (name, stream, _filename, encoding) => this.#takeFile(name, stream, encoding))
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
  }

  #takeField(name: string, value: string, cut: boolean): void {
    if (name === 'path' && this.#path === null && !cut) this.#path = value
    else if (name !== 'path') this.#fail(unknownPart(name))
    else this.#fail(invalid(cut ? 'The part "path" is too long.' : 'The form has several parts "path".'))
  }

  #takeFile(name: string, stream: BusboyFileStream, encoding: string): void {
    stream.on('error', () => {})
    if (name === 'path') this.#fail(invalid('The part "path" must be a text, not a file.'))
    else if (name !== 'file') this.#fail(unknownPart(name))
    else if (this.#stream !== null)
      this.#fail(invalid('The form has several parts "file". Send one at a time.'))
    else if (!/^(7bit|8bit|binary)$/.test(encoding))
      this.#fail(invalid('The part "file" must be sent as it is.'))
    else {
      this.#stream = stream
      this.#file.resolve(this.#contentOf(stream))
      return
    }
    stream.resume()
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

  #finish(): void {
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
      // A client may leave out the name of the file: the part is the file all the same.
      isPartAFile: (name, _type, filename) => name === 'file' || filename !== undefined,
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

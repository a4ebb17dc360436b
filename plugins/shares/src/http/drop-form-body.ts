import type { IncomingMessage } from 'node:http'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { invalid, NodekeepError, untilAborted } from '@nodekeep/plugin-sdk'

/** Files of one form. */
const mostFiles = 100

/** Characters of the name of the sender. */
const longestField = 1000

/** A file of a form. */
export interface FormFile {
  readonly name: string
  /** The name of the sender; null if the form has none before the file. */
  readonly sender: string | null
  readonly content: AsyncIterable<Uint8Array>
}

/**
 * Reads a form with files, one after the other (RFC 7578). Its text field `sender` counts for the files behind it.
 *
 * @param store stores a file. If it rejects, nothing more of the form is read
 * @throws NodekeepError VALIDATION_ERROR; the error of `store`
 */
export async function readDropForm(
  request: IncomingMessage,
  store: (file: FormFile) => Promise<void>,
): Promise<void> {
  const busboy = createBusboy(request)
  const failed = new AbortController()
  const fail = (error: unknown) => failed.abort(error)
  let sender: string | null = null
  let storing = Promise.resolve()
  busboy.on('field', (name, value) => {
    if (name === 'sender') sender = value
  })
  busboy.on('file', (_field, stream, name) => {
    stream.on('error', () => {})
    // A browser sends an empty part if nobody chose a file.
    if (name === undefined || name === '') {
      stream.resume()
      return
    }
    const file = { name, sender, content: whole(stream, failed.signal) }
    storing = storing.then(() => store(file)).catch(fail)
  })
  for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
    busboy.on(limit, () => fail(invalid(`Send at most ${mostFiles} files at once.`)))
  const finished = new Promise<void>((resolve) => busboy.on('finish', resolve))
  busboy.on('error', (error) => fail(malformed(error)))
  try {
    // Leaving the loop must not end the connection, because an answer is still to be sent on it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }))
      await untilAborted(new Promise<void>((taken) => busboy.write(chunk, () => taken())), failed.signal)
    busboy.end()
    await untilAborted(finished, failed.signal)
  } catch (error) {
    fail(error)
  }
  await storing
  failed.signal.throwIfAborted()
}

function createBusboy({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: { files: mostFiles, fields: 8, parts: mostFiles + 8, fieldSize: longestField, headerPairs: 64 },
    })
  } catch (error) {
    throw malformed(error)
  }
}

/** The bytes of a part. One that the form cuts off fails, and so does one of a form that nobody reads any more. */
async function* whole(
  stream: BusboyFileStream,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = stream[Symbol.asyncIterator]()
  for (;;) {
    const step = await untilAborted<IteratorResult<Uint8Array>>(chunks.next(), signal)
    signal.throwIfAborted()
    if (step.done) return
    yield step.value
  }
}

function malformed(cause: unknown): NodekeepError {
  const message = 'The body is not a complete form of multipart/form-data.'
  return new NodekeepError('VALIDATION_ERROR', message, { cause })
}

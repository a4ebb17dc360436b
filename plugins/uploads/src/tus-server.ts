import { type ErrorCode, errorStatus, isNodekeepError, NodekeepError, undoHeader } from '@nodekeep/plugin-sdk'
import { DataStore, type Locker, Server, Upload } from '@tus/server'
import { keepMs } from './uploads.ts'
import { offsetOf, type UserUploads } from './user-uploads.ts'

/** The headers of a request that the protocol knows. */
const requestHeaders = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-offset',
  'upload-concat',
  'content-type',
  'content-length',
]

/** A request of the protocol tus 1.0 (https://tus.io/protocols/resumable-upload). */
interface TusRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The path of all uploads. */
  readonly path: string
  /** The upload, also of one that begins now. */
  readonly id: string
  /** Bytes. */
  readonly maxFileSize: number
  /** The group of the change that the request makes. */
  readonly group: string
}

/** The upload has its turn already, so that no request waits within the library. */
const noLocks: Locker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) }

/**
 * Answers a request by `@tus/server`. It decides by the headers; the body does not pass through the library, whose streams would halve the
 * speed.
 *
 * @throws NodekeepError in place of an answer with an error
 */
export async function answerTus(
  uploads: UserUploads,
  { method, headers, path, id, maxFileSize, group }: TusRequest,
): Promise<Response> {
  const server = new Server({
    path,
    relativeLocation: true,
    // The kernel lets pages of other origins in.
    allowedOrigins: [],
    datastore: new UserStore(uploads),
    locker: noLocks,
    maxSize: maxFileSize,
    namingFunction: () => id,
    getFileIdFromRequest: () => id,
    async onUploadFinish() {
      const { path, revision, isUndoable } = await uploads.finish(id)
      return { headers: { ...storedHeaders(path, revision), ...(isUndoable && { [undoHeader]: group }) } }
    },
    onResponseError(_request, error) {
      if (isNodekeepError(error) || !('status_code' in error)) throw error
      throw tusError(error.status_code, error.body)
    },
  })
  const known = requestHeaders.flatMap((name): [string, string][] => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  const response = await server.handleWeb(new Request(`http://node${path}/${id}`, { method, headers: known }))
  if (response.status >= 400) throw tusError(response.status, await response.text())
  return response
}

/** The headers that tell which file was stored. */
export function storedHeaders(path: string, revision: string | null): Record<string, string> {
  return { etag: `"${revision}"`, 'x-nodekeep-path': path.split('/').map(encodeURIComponent).join('/') }
}

/** The uploads of a user, as the library sees them. */
class UserStore extends DataStore {
  override extensions = [
    'creation',
    'creation-with-upload',
    'creation-defer-length',
    'termination',
    'expiration',
  ]
  readonly #uploads: UserUploads

  constructor(uploads: UserUploads) {
    super()
    this.#uploads = uploads
  }

  override async create(upload: Upload): Promise<Upload> {
    await this.#uploads.begin(upload.id, upload.size ?? null, upload.metadata ?? {})
    return upload
  }

  override async getUpload(id: string): Promise<Upload> {
    const upload = this.#uploads.get(id)
    const { length, metadata, used } = upload
    return new Upload({
      id,
      ...(length !== null && { size: length }),
      offset: offsetOf(upload),
      metadata,
      // The library lets uploads expire by their creation. Here, each use prolongs them.
      creation_date: used.toISOString(),
    })
  }

  override async declareUploadLength(id: string, length: number): Promise<void> {
    this.#uploads.setLength(id, length)
  }

  override write(_stream: unknown, id: string): Promise<number> {
    return this.#uploads.receive(id)
  }

  override async remove(id: string): Promise<void> {
    this.#uploads.get(id)
    await this.#uploads.remove(id)
  }

  override getExpiration(): number {
    return keepMs
  }
}

const messages: Readonly<Record<number, string>> = {
  404: 'There is no such upload. It may have expired. Begin it again.',
  409: 'The upload is at another offset. Ask for its offset with HEAD, and go on from there.',
  410: 'The upload has expired. Begin it again.',
  413: 'The upload is larger than its length or than the limit (storage.maxFileSize).',
}

/** The error of the node for one of the library. */
function tusError(status: number, text: string): NodekeepError {
  const codes = Object.keys(errorStatus) as ErrorCode[]
  // 410 and 501, for extensions that are not there, have no code.
  const code =
    codes.find((name) => errorStatus[name] === status) ?? (status === 410 ? 'NOT_FOUND' : 'VALIDATION_ERROR')
  return new NodekeepError(code, messages[status] ?? text.trim())
}

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type AuthenticatedUser,
  bytesUntilAborted,
  type FileChangeOptions,
  type FileEntry,
  type FilesService,
  invalid,
  isNodekeepError,
  NodekeepError,
  type UserFiles,
  type WrittenFile,
} from '@nodekeep/plugin-sdk'
import { readBegin } from './begin.ts'
import type { StagedFiles } from './staged-files.ts'
import type { Turns } from './turns.ts'
import type { Upload, Uploads } from './uploads.ts'

export interface UploadServices {
  readonly files: FilesService
  readonly uploads: Uploads
  readonly staged: StagedFiles
  readonly turns: Turns
  /** Bytes of the unfinished uploads of a user. */
  readonly stagedBytesPerUser: number
  /** The offsets up to which requests receive bytes now, by the ids of uploads. */
  readonly receiving: Record<string, number>
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
}

/** A request of a user for one upload. */
interface UploadRequest {
  readonly user: AuthenticatedUser
  readonly origin: FileChangeOptions
  readonly headers: IncomingHttpHeaders
  readonly body: AsyncIterable<Uint8Array>
  /** Bytes of the body; null if the request does not tell. */
  readonly bodySize: number | null
  /** Aborts when the request may not receive bytes any more. */
  readonly signal: AbortSignal
}

/** The file of an upload. */
interface StoredFile extends Pick<Upload, 'path' | 'revision'> {
  /** Whether this request has stored it, and the undo can take that back. */
  readonly isUndoable: boolean
}

/** Acts on the uploads of the user who makes a request. Nobody reaches those of others. */
export class UserUploads {
  readonly #services: UploadServices
  readonly #request: UploadRequest
  readonly #userUuid: string
  readonly #files: UserFiles

  constructor(services: UploadServices, request: UploadRequest) {
    this.#services = services
    this.#request = request
    this.#userUuid = request.user.uuid
    this.#files = services.files.for({ uuid: this.#userUuid }, request.origin)
  }

  /** Begins an upload. `length` is null as long as it is not known, in bytes. */
  async begin(
    id: string,
    length: number | null,
    metadata: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    const { uploads, staged, turns } = this.#services
    const upload = await readBegin(this.#files, metadata, this.#request.headers)
    const isInUse = (other: string) => turns.isInUse(this.#userUuid, other)
    const forgotten = uploads.create(this.#userUuid, { id, length, metadata, ...upload }, isInUse)
    for (const other of forgotten) await staged.remove(this.#userUuid, other)
  }

  /** @throws NodekeepError NOT_FOUND */
  get(id: string): Upload {
    return this.#services.uploads.get(this.#userUuid, id)
  }

  use(id: string): void {
    this.#services.uploads.use(this.#userUuid, id)
  }

  setLength(id: string, length: number): void {
    this.#services.uploads.setLength(this.#userUuid, id, length)
  }

  /**
   * Receives the body of the request.
   *
   * @returns the offset of the next byte
   * @throws NodekeepError INSUFFICIENT_STORAGE, PAYLOAD_TOO_LARGE, VALIDATION_ERROR; the error of the body. What came before it is kept
   */
  async receive(id: string): Promise<number> {
    const { files, uploads, staged, receiving } = this.#services
    const { body, bodySize, signal } = this.#request
    const upload = this.get(id)
    const { length } = upload
    const start = offsetOf(upload)
    const most = length ?? files.maxFileSize
    const end = bodySize === null ? most : start + bodySize
    if (upload.revision !== null || end === start) return start
    this.#refuseOtherConditions(upload)
    this.#refuseTooManyBytes(id, end)
    receiving[id] = end
    try {
      return await staged.receive(this.#userUuid, id, bytesUntilAborted(body, signal), {
        start,
        most,
        end: length !== null || bodySize !== null ? end : start,
        length,
        record: (offset) => uploads.setReceived(this.#userUuid, id, offset),
      })
    } finally {
      delete receiving[id]
    }
  }

  /**
   * Stores the file of a complete upload, whether or not its client still waits. If that fails, the upload stays, without its last byte:
   * a client that sends it again tries again.
   */
  async finish(id: string): Promise<StoredFile> {
    const { uploads, staged } = this.#services
    const upload = this.get(id)
    if (upload.revision !== null) return { ...upload, isUndoable: false }
    let isUndoable = false
    uploads.beginEnd(this.#userUuid, id)
    try {
      const written = await this.#write(upload)
      isUndoable = written.isUndoable === true
      uploads.finish(this.#userUuid, id, { path: written.path, revision: String(written.revision) })
    } catch (error) {
      staged.hold(this.#userUuid, id, upload.length ?? 0)
      await staged.sync(this.#userUuid, id)
      uploads.setReceived(this.#userUuid, id, upload.length ?? 0)
      throw error
    }
    await staged.remove(this.#userUuid, id)
    return { ...this.get(id), isUndoable }
  }

  /** Forgets an upload, and what was sent for it. A file that was stored stays. */
  async remove(id: string): Promise<void> {
    const { uploads, staged } = this.#services
    uploads.remove(this.#userUuid, id)
    await staged.remove(this.#userUuid, id)
  }

  async #write(upload: Upload): Promise<WrittenFile> {
    const { staged, signal } = this.#services
    const { id, path, modified, ifRevision, ifAbsent } = upload
    const size = upload.length ?? 0
    try {
      return await this.#files.write(path, staged.read(this.#userUuid, id, size), {
        ...(modified !== null && { modified }),
        ...(ifRevision !== null && { ifRevision }),
        ...(ifAbsent && { ifAbsent }),
        size,
        room: staged.roomOf(this.#userUuid, id),
        freeChunks: true,
        signal,
      })
    } catch (error) {
      // A node that was killed may have written the file, and not recorded that.
      const isUnsure = upload.beganEnd && isNodekeepError(error) && error.code === 'PRECONDITION_FAILED'
      const written = isUnsure ? await this.#writtenFile(upload, size) : null
      if (written === null) throw error
      return written
    }
  }

  /** The file at the path of an upload, if it has the content of the upload. */
  async #writtenFile({ id, path }: Upload, size: number): Promise<FileEntry | null> {
    const entry = await this.#files.stat(path).catch(() => null)
    if (entry?.type !== 'file' || entry.size !== size) return null
    const { content } = await this.#files.read(path)
    const hashes = [await hashOf(content), await hashOf(this.#services.staged.read(this.#userUuid, id, size))]
    return hashes[0] === hashes[1] ? entry : null
  }

  /** Conditions that were not there when the upload began would not hold. */
  #refuseOtherConditions({ ifRevision, ifAbsent }: Upload): void {
    const { 'if-match': match, 'if-none-match': noneMatch } = this.#request.headers
    if ((match === undefined || ifRevision !== null) && (noneMatch === undefined || ifAbsent)) return
    throw invalid('Send "if-match" and "if-none-match" when you begin the upload. They hold until its end.')
  }

  #refuseTooManyBytes(id: string, end: number): void {
    const { uploads, receiving, stagedBytesPerUser } = this.#services
    const others = uploads.unfinished(this.#userUuid).filter((other) => other.id !== id)
    const bytes = others.reduce((sum, other) => sum + Math.max(other.received, receiving[other.id] ?? 0), end)
    if (bytes <= stagedBytesPerUser) return
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      `Your unfinished uploads have too many bytes: the limit is ${stagedBytesPerUser} (uploads.stagedBytesPerUser). Finish or delete some.`,
    )
  }
}

/** The offset from which a client goes on. An upload is only complete when its file is stored. */
export function offsetOf({ received, length, revision }: Upload): number {
  return revision === null && received === length ? Math.max(length - 1, 0) : received
}

async function hashOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type FileChangeOptions,
  type FilesService,
  NodekeepError,
  type UserDirectory,
} from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { extractUserFile, findUserFiles, readHeader } from '../archive/read-archive.ts'
import type { UserFilesResult } from '../archive/user-files.ts'
import { explainFullDisk, usableBytes } from '../create/free-space.ts'
import type { BackupFolder } from '../stored/backup-folder.ts'
import { putBack } from './put-back.ts'

interface ReadBackupsServices {
  readonly backups: Pick<BackupFolder, 'find'>
  /** Where files lie until they are put back. */
  readonly folder: string
  readonly files: Pick<FilesService, 'for'> | undefined
  readonly users: Pick<UserDirectory, 'get'>
  /** The words that run the commands of backups. */
  readonly command: string
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** A backup that is read. */
interface ReadRequest {
  readonly filename: string
  /** The secret half of a recovery key. */
  readonly key?: string
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

interface PutBackRequest extends ReadRequest {
  /** A user of the backup, who must still be one of the node. */
  readonly userUuid: string
  readonly path: string
  /** The origin of the changes, in the journal. */
  readonly origin: FileChangeOptions
}

/** Finds files of users in the backups of the node, and puts them back. A backup is read whole each time, and one at a time. */
export class ReadBackups {
  readonly #services: ReadBackupsServices
  #share: number | null = null

  constructor(services: ReadBackupsServices) {
    this.#services = services
  }

  /** The share that was read, from 0 to 1; null while nothing is read. */
  get share(): number | null {
    return this.#share
  }

  /** @throws NodekeepError NOT_FOUND, CONFLICT while another one is read, and those of {@link findUserFiles} */
  find(text: string, request: ReadRequest): Promise<Pick<UserFilesResult, 'found' | 'count'>> {
    return this.#read(request, (file, options) => findUserFiles(file, text, options))
  }

  /**
   * @returns the path at which the file or folder is now
   * @throws NodekeepError NOT_FOUND also for a user or a path, CONFLICT while another one is read, SERVICE_UNAVAILABLE without
   *   files, INSUFFICIENT_STORAGE, and those of {@link extractUserFile}
   */
  async putBack({ userUuid, path, origin, ...request }: PutBackRequest): Promise<string> {
    const { files, users, folder, command } = this.#services
    if (files === undefined)
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'This node has no files of users now.')
    if ((await users.get(userUuid)) === null)
      throw new NodekeepError(
        'NOT_FOUND',
        `This user has no account on the node any more. \`${command} extract\` writes the file into a folder.`,
      )
    return this.#read(request, async (file, options) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const own = await mkdtemp(join(folder, 'one-'))
      try {
        const moment = new Date((await readHeader(file)).header.created)
        // A file is there twice while it is put back.
        const maxBytes = Math.max(0, Math.floor((await usableBytes(own)) / 2))
        const wanted = { ...options, user: userUuid, path, maxBytes }
        const extracted = await extractUserFile(file, own, wanted).catch((error) => {
          throw explained(error)
        })
        const { signal } = this.#services
        return await putBack({ files, folder: own, extracted, path, moment, origin, signal })
      } finally {
        await emptyFolder(own)
        await rm(own, { recursive: true, force: true })
      }
    })
  }

  /** Removes what a crash has left. */
  async removeLeft(): Promise<void> {
    const { folder } = this.#services
    if (this.#share !== null) return
    await emptyFolder(folder).catch(() => {})
    await rm(folder, { recursive: true, force: true })
  }

  async #read<T>(
    { filename, key, signal: left }: ReadRequest,
    read: (file: string, options: Parameters<typeof findUserFiles>[2]) => Promise<T>,
  ): Promise<T> {
    const file = await this.#services.backups.find(filename)
    if (this.#share !== null)
      throw new NodekeepError('CONFLICT', 'Another backup is being read. Try again when that has ended.')
    this.#share = 0
    try {
      return await read(file, {
        identities: key === undefined ? [] : [key],
        signal: AbortSignal.any([left, this.#services.signal]),
        onProgress: (share) => {
          this.#share = share
        },
      })
    } finally {
      this.#share = null
    }
  }
}

function explained(error: unknown): unknown {
  if (!(error instanceof NodekeepError && error.code === 'PAYLOAD_TOO_LARGE'))
    return explainFullDisk(error, 'this')
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk has too little space to put this back: it needs twice its size meanwhile. Free some space and try again.',
    { cause: error },
  )
}

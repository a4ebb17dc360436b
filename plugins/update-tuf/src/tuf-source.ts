import { mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { Readable } from 'node:stream'
import {
  Mutex,
  NodekeepError,
  type Release,
  type ReleaseDownloadOptions,
  readWithin,
  type UpdateSource,
} from '@nodekeep/plugin-sdk'
import semver from 'semver'
import type { TargetFile, Updater } from 'tuf-js'
import { archivePath, indexPath, type ReleaseIndex, readIndex } from './releases/release-index.ts'
import { diskFull, explainFullDisk, requireSpace, unpackRelease } from './releases/unpack-release.ts'
import { type Pace, slowestPace, tooSlow } from './transfer/pace.ts'
import { RepositoryFiles } from './transfer/repository-files.ts'
import { TransferFailure, transferProblem } from './transfer/transfer-failure.ts'
import { MetadataFetcher } from './trust/metadata-fetcher.ts'
import { trustProblem } from './trust/trust-problem.ts'
import { TrustedMetadata } from './trust/trusted-metadata.ts'

interface TufSourceOptions {
  /** The address of the repository, with a slash at its end. */
  readonly url: URL
  /** The file with the pinned root metadata. */
  readonly root: string
  /** The plugin's own folder. */
  readonly folder: string
  readonly userAgent: string
  readonly pace?: Pace
  /** The longest time for all metadata together, in milliseconds. */
  readonly metadataMs?: number
}

/** The most bytes of an index of 20 releases with their notes. */
const maxIndexBytes = 4 * 1024 ** 2
/** The most bytes of an archive. Each release has at most 90 MB. */
const maxArchiveBytes = 1024 ** 3
const defaultMetadataMs = 120_000
/** The share of a download in the whole work, of which unpacking is the rest. */
const transferShare = 0.7

/** The verified facts of one call. */
interface Verified {
  /** `null` if no release for this machine was published. */
  readonly index: ReleaseIndex | null
  /** The archive of the release that was asked for. */
  readonly archive: TargetFile | undefined
}

/**
 * A repository of The Update Framework (https://theupdateframework.github.io/specification/latest/), with consistent snapshots. `tuf-js`
 * verifies the metadata: signatures, rollback, freeze, mix-and-match. The index and the archives are its targets.
 */
export class TufSource implements UpdateSource {
  readonly isConfigured = true
  readonly #options: TufSourceOptions
  readonly #metadata: TrustedMetadata
  /** Two clients of TUF must not write the same metadata. */
  readonly #alone = new Mutex()

  constructor(options: TufSourceOptions) {
    this.#options = options
    this.#metadata = new TrustedMetadata(options.folder)
  }

  async latest(currentVersion: string, signal: AbortSignal): Promise<Release | null> {
    using files = this.#files()
    const { index } = await this.#verify(files, null, signal)
    const found = index?.releases.find(({ version }) => version === index.latest)
    if (found === undefined || !semver.gt(found.version, currentVersion)) return null
    return { version: found.version, notes: found.notes }
  }

  async download(
    { version }: Pick<Release, 'version'>,
    folder: string,
    { signal, onProgress = () => {} }: ReleaseDownloadOptions,
  ): Promise<void> {
    if ((await readdir(folder)).length > 0)
      throw new NodekeepError('CONFLICT', 'The folder for the release is not empty.')
    using files = this.#files()
    const { index, archive } = await this.#verify(files, version, signal)
    if (archive === undefined || !index?.releases.some((release) => release.version === version)) {
      throw new NodekeepError(
        'NOT_FOUND',
        `The source of updates does not have the version ${version} any more.`,
      )
    }
    requireBounds(archive, maxArchiveBytes)
    await mkdir(this.#downloads, { recursive: true, mode: 0o700 })
    const place = await mkdtemp(join(this.#downloads, 'archive-'))
    // People read its name in messages.
    const file = join(place, posix.basename(archive.path))
    try {
      await requireSpace(file, folder, archive.length)
      await this.#store(files, archive, file, signal, (share) => onProgress(share * transferShare))
      await unpackRelease(file, folder, {
        version,
        signal,
        onProgress: (share) => onProgress(transferShare + share * (0.99 - transferShare)),
      })
      onProgress(1)
    } catch (error) {
      throw error instanceof TransferFailure ? transferProblem(error) : explainFullDisk(error)
    } finally {
      await rm(place, { recursive: true, force: true })
    }
  }

  /** Removes what a crash has left. Call it while nothing is downloaded. */
  async removeLeft(): Promise<void> {
    await rm(this.#downloads, { recursive: true, force: true })
  }

  get #downloads(): string {
    return join(this.#options.folder, 'downloads')
  }

  #files(): RepositoryFiles {
    const { userAgent, pace = slowestPace } = this.#options
    return new RepositoryFiles({ userAgent, pace })
  }

  /** Refreshes the metadata, and reads the index. */
  async #verify(files: RepositoryFiles, version: string | null, caller: AbortSignal): Promise<Verified> {
    caller.throwIfAborted()
    const late = AbortSignal.timeout(this.#options.metadataMs ?? defaultMetadataMs)
    const signal = AbortSignal.any([caller, late])
    const fetcher = new MetadataFetcher(files, signal)
    try {
      const [index, archive] = await this.#alone.run(async () => {
        const pinned = await readPinned(this.#options.root)
        const refresh = async (folder: string) => {
          const updater = await createUpdater(folder, this.#options.url, fetcher)
          await updater.refresh()
          const archive = version === null ? undefined : await updater.getTargetInfo(archivePath(version))
          return [await updater.getTargetInfo(indexPath), archive] as const
        }
        return this.#metadata.update(pinned, refresh, fetcher.roots)
      })
      if (index === undefined) return { index: null, archive }
      return { index: readIndex(await this.#readIndex(files, index, signal)), archive }
    } catch (error) {
      caller.throwIfAborted()
      const causes = [late.aborted ? tooSlow() : null, fetcher.failure, error]
      const failure = causes.find((cause) => cause instanceof TransferFailure)
      if (failure !== undefined) throw transferProblem(failure)
      if (error instanceof NodekeepError) throw error
      // `tuf-js` tells of errors of the disk within its own.
      if (/ENOSPC|EDQUOT/.test(String(error))) throw diskFull(error)
      throw trustProblem(error)
    }
  }

  async #readIndex(files: RepositoryFiles, target: TargetFile, signal: AbortSignal): Promise<Buffer> {
    requireBounds(target, maxIndexBytes)
    const content = await readWithin(
      files.read(this.#addressOf(target), target.length, signal),
      target.length,
    )
    await target.verify(Readable.from([content]))
    return content
  }

  /** Stores an archive, and verifies it on the way. */
  async #store(
    files: RepositoryFiles,
    target: TargetFile,
    path: string,
    signal: AbortSignal,
    onProgress: (share: number) => void,
  ): Promise<void> {
    const handle = await open(path, 'wx', 0o600)
    const address = this.#addressOf(target)
    let received = 0
    async function* storing() {
      for await (const chunk of files.read(address, target.length, signal)) {
        await handle.writeFile(chunk)
        received += chunk.length
        onProgress(received / target.length)
        yield chunk
      }
    }
    try {
      await target.verify(Readable.from(storing(), { highWaterMark: 1 }))
    } catch (error) {
      signal.throwIfAborted()
      // Errors of transfers and of the disk have a code; the others say that the content is another one.
      throw (error as { readonly code?: unknown }).code === undefined ? trustProblem(error) : error
    } finally {
      await handle.close()
    }
  }

  /** With consistent snapshots, the name of a target begins with its hash, so that a new index never meets an old list. */
  #addressOf(target: TargetFile): URL {
    const { dir, base } = posix.parse(target.path)
    const [hash = ''] = Object.values(target.hashes)
    return new URL(`targets/${dir}/${hash}.${base}`, this.#options.url)
  }
}

/** Loaded at the first check only, since idle memory counts. */
async function createUpdater(folder: string, url: URL, fetcher: MetadataFetcher): Promise<Updater> {
  const { Updater } = await import('tuf-js')
  return new Updater({ metadataDir: folder, metadataBaseUrl: new URL('metadata', url).href, fetcher })
}

/** A target without a hash would be verified by its length alone. */
function requireBounds(target: TargetFile, maxBytes: number): void {
  if (Object.keys(target.hashes).length === 0) throw trustProblem(new Error(`${target.path} has no hash.`))
  if (Number.isSafeInteger(target.length) && target.length <= maxBytes) return
  throw new NodekeepError(
    'UPSTREAM_ERROR',
    `The source of updates offers a file of more than ${maxBytes} bytes.`,
  )
}

async function readPinned(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (cause) {
    const message = `The file ${file} with the root keys cannot be read. Put it back, or correct update-tuf.root.`
    throw new NodekeepError('UPSTREAM_ERROR', message, { cause })
  }
}

import {
  isNodekeepError,
  type Log,
  messageOf,
  NodekeepError,
  type RegistryReader,
  type StorageBackend,
  type StorageEntry,
  type StorageSpace,
} from '@nodekeep/plugin-sdk'
import { isBelow, isWithin, root, type UserPath, userPath } from '../paths/user-path.ts'
import { keptFolder, keptPath } from './kept-folder.ts'
import { Outages } from './outages.ts'
import { withStorageLimit } from './storage-limit.ts'

/** The backend that stores a path of a user. */
export interface Location {
  readonly backend: StorageBackend
  /** The path within the backend, which keeps each user's files in a folder named by the user's uuid. */
  readonly backendPath: string
}

/** The place of something kept in a backup: its kept name, or a path in it. */
export interface KeptPlaceInBackup {
  readonly userUuid: string
  readonly storage: string
  readonly keptName: string
}

/** The place of a file in a backup: its path, or where it is kept. */
export type BackedUpPlace = { readonly userUuid: string; readonly path: string } | KeptPlaceInBackup

/** The backend of a mount, which counts no failure as an outage of the mount. */
export interface MountedBackend {
  readonly name: string
  readonly point: UserPath
  /** Null if no plugin provides it. */
  readonly backend: StorageBackend | null
}

/** The mounts of `storage.mounts`. They are the same for every user. Backends may be loaded and unloaded meanwhile. */
export class Mounts {
  readonly #backends: RegistryReader<StorageBackend>
  readonly #log: Pick<Log, 'info' | 'warn'>
  readonly #outages: Outages
  /** Backends whose files are not there yet. */
  readonly #withheld = new Set<string>()
  readonly #watched = new WeakMap<StorageBackend, StorageBackend>()
  /** Longest path first. */
  readonly #mounts: readonly (readonly [point: UserPath, backend: string])[]

  /**
   * @param mounts paths to names of backends, with one for `/`
   * @throws Error that names the key of the configuration to correct
   */
  constructor(
    mounts: Readonly<Record<string, string>>,
    backends: RegistryReader<StorageBackend>,
    log: Pick<Log, 'info' | 'warn'>,
  ) {
    const all = Object.entries(mounts).map(([path, name]) => {
      return [userPath(path, `The mount "${path}" in storage.mounts`), name] as const
    })
    this.#mounts = all.toSorted(([a], [b]) => b.length - a.length)
    this.#backends = backends
    this.#log = log
    this.#outages = new Outages(log)
    refuseAliases(all)
  }

  /** Every mount point. */
  get points(): readonly UserPath[] {
    return this.#mounts.map(([point]) => point)
  }

  /** The backends of all mounts, by their names. Other backends may be loaded, such as targets of backups. */
  get backends(): MountedBackend[] {
    const byName = this.#mounts.toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    return byName.map(([point, name]) => ({ name, point, backend: this.#backends.get(name) ?? null }))
  }

  /**
   * The user and the place of a file in a backup, `<backend>/<user uuid>/<path>` or `<backend>/kept/<user uuid>/<kept name>`. Null if its
   * backend is not mounted, or another mount hides the file.
   */
  ownerOf(pathInBackup: string): BackedUpPlace | null {
    const [name = '', ...below] = pathInBackup.split('/')
    const isKept = `/${below[0]}` === keptFolder
    const [userUuid = '', ...names] = isKept ? below.slice(1) : below
    const point = this.pointOfStorage(name)
    if (point === null || names.length === 0) return null
    if (isKept) return { userUuid, storage: name, keptName: names.join('/') }
    const path = `${point === root ? '' : point}/${names.join('/')}` as UserPath
    return this.pointOf(path) === point ? { userUuid, path } : null
  }

  /** Lets nobody read or write the files of a backend, until {@link release}. */
  withhold(name: string): void {
    this.#withheld.add(name)
  }

  /** Whether a backend is withheld. */
  get isRestoring(): boolean {
    return this.#withheld.size > 0
  }

  release(name: string): void {
    this.#withheld.delete(name)
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE when the backend of the path is not loaded */
  locate(userUuid: string, path: UserPath): Location {
    const [mount, name] = this.#mountOf(path)
    const rest = mount === root ? path : path.slice(mount.length)
    const backendPath = rest === '/' ? `/${userUuid}` : `/${userUuid}${rest}`
    return { backend: this.#backend(mount, name), backendPath }
  }

  /**
   * The place of something that is kept, on the mount of a path.
   *
   * @param name its kept name, or a path in it
   * @throws NodekeepError SERVICE_UNAVAILABLE when the backend of the path is not loaded
   */
  locateKept(userUuid: string, path: UserPath, name: string): Location {
    return { backend: this.locate(userUuid, path).backend, backendPath: keptPath(userUuid, name) }
  }

  /**
   * The entry at a path as its backend has it, or `null` when nothing is there.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable
   */
  async entryAt(userUuid: string, path: UserPath): Promise<StorageEntry | null> {
    return entryIn(this.locate(userUuid, path))
  }

  /** The name of the backend at a mount point. */
  storageAt(point: UserPath): string {
    return this.#mountOf(point)[1]
  }

  /** The mount of a storage; null if it has none. */
  pointOfStorage(name: string): UserPath | null {
    return this.#mounts.find(([, storage]) => storage === name)?.[0] ?? null
  }

  /** The mount that a path belongs to. */
  pointOf(path: UserPath): UserPath {
    return this.#mountOf(path)[0]
  }

  /** Whether a mount begins exactly here. */
  isPoint(path: UserPath): boolean {
    return this.#mounts.some(([point]) => point === path)
  }

  /** Whether the path or something below it is a mount. Such a path cannot be moved, removed or replaced. */
  holdsMount(path: UserPath): boolean {
    return this.#mounts.some(([point]) => isWithin(point, path))
  }

  /** Names in a folder that are mounts, or have a mount below them. */
  namesIn(folder: UserPath): Set<string> {
    const start = folder === root ? 1 : folder.length + 1
    const below = this.#mounts.filter(([point]) => isBelow(point, folder))
    return new Set(below.map(([point]) => point.slice(start).split('/', 1)[0] as string))
  }

  /** The room of the storage of a mount; null if it has no limit, or does not tell it now. */
  async spaceAt(point: UserPath, signal: AbortSignal): Promise<StorageSpace | null> {
    // A storage that does not answer now is no outage that a user has met.
    const space = this.#backends.get(this.storageAt(point))?.space?.(signal)
    return space === undefined ? null : withStorageLimit(space).catch(() => null)
  }

  /** The folder of the disk with the files of a mount; undefined if its storage has none. */
  plainFolderAt(point: UserPath): string | undefined {
    return this.#backends.get(this.storageAt(point))?.plainFolder
  }

  /** Returns for each mount whose backend is not loaded, or does not work, the mount and the reason. */
  async unreachable(signal: AbortSignal): Promise<string[]> {
    const probes = this.#mounts.map(async ([point, name]) => {
      try {
        await this.#backend(point, name).probe(signal)
        return null
      } catch (error) {
        return `${point} ("${name}"): ${messageOf(error)}`
      }
    })
    return (await Promise.all(probes)).filter((reason) => reason !== null)
  }

  /**
   * Logs every backend that is at another mount than before, or at none: its files have other paths now, or none. Sync clients
   * do not learn that from the journal.
   *
   * @param before the mounts of the last start
   */
  warnOfMovedBackends(before: Readonly<Record<string, string>>): void {
    for (const [old, name] of Object.entries(before)) {
      const mount = this.#mounts.find(([, backend]) => backend === name)?.[0]
      if (mount === old) continue
      const now =
        mount === undefined
          ? 'is no longer mounted, so its files are unreachable'
          : `is now mounted at "${mount}", so its files have other paths`
      this.#log.warn(
        { mount: old },
        `The storage backend "${name}" was mounted at "${old}" at the last start. It ${now}. If that is a mistake, correct ` +
          'storage.mounts and restart the node.',
      )
    }
  }

  /** The mounts as they are configured: paths to names of backends. */
  toJSON(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#mounts)
  }

  /** Logs every mount without a backend: its name may be misspelled, or a plugin may not be loaded. */
  warnOfMissingBackends(): void {
    const names = this.#backends.names().map((name) => `"${name}"`)
    const known = names.length === 0 ? 'No backend is loaded.' : `Loaded backends: ${names.join(', ')}.`
    for (const [mount, name] of this.#mounts) {
      if (this.#backends.has(name)) continue
      this.#log.warn(
        { mount },
        `No plugin provides the storage backend "${name}" of "${mount}", so files there cannot be read or written. ${known} ` +
          'Correct storage.mounts, or load the plugin that provides it.',
      )
    }
  }

  #backend(mount: UserPath, name: string): StorageBackend {
    if (this.#withheld.has(name)) {
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        'These files are being restored from a backup. Try again later.',
      )
    }
    const backend = this.#backends.get(name)
    if (backend === undefined) {
      const cause = new Error(`No plugin provides the backend "${name}".`)
      const message = `The node has no storage for "${mount}". Its owner must correct storage.mounts, or load the plugin for it.`
      throw this.#outages.failed(
        mount,
        new NodekeepError('SERVICE_UNAVAILABLE', message, { cause, permanent: true }),
      )
    }
    let watched = this.#watched.get(backend)
    if (watched === undefined) {
      watched = this.#outages.watch(mount, backend)
      this.#watched.set(backend, watched)
    }
    return watched
  }

  #mountOf(path: UserPath) {
    const found = this.#mounts.find(([point]) => isWithin(path, point))
    if (found === undefined) throw new Error('Nothing is mounted at "/".')
    return found
  }
}

/** The entry at a place of a backend, or `null` when nothing is there. */
export async function entryIn({ backend, backendPath }: Location): Promise<StorageEntry | null> {
  try {
    return await backend.stat(backendPath)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Whether a backend read nothing because there is nothing at the path, or one of the parents is a file. */
export function isMissing(error: unknown): error is NodekeepError {
  return isNodekeepError(error) && (error.code === 'NOT_FOUND' || error.code === 'CONFLICT')
}

/**
 * One backend at two mounts would give files two paths, but locks, journal and moves know only one. Of two backends at
 * one path, one would be hidden.
 */
function refuseAliases(mounts: readonly (readonly [UserPath, string])[]): void {
  const points = new Map<string, string>()
  const seen = new Set<UserPath>()
  for (const [point, name] of mounts) {
    if (seen.has(point)) {
      throw new Error(
        `storage.mounts has "${point}" twice, in two spellings that are equal in Unicode's NFC. Use one.`,
      )
    }
    seen.add(point)
    const other = points.get(name)
    if (other !== undefined) {
      throw new Error(
        `storage.mounts has the backend "${name}" at "${other}" and at "${point}". Use it once.`,
      )
    }
    points.set(name, point)
  }
}

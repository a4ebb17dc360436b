import { NodekeepError, type RegistryReader, type StorageBackend } from '@nodekeep/plugin-sdk'
import { isBelow, isWithin, root, type UserPath, userPath } from '../paths/user-path.ts'
import type { Reach } from './reach.ts'
import { watchedBackend } from './watched-backend.ts'

/** Where a path of a user is kept. */
export interface Place {
  readonly path: UserPath
  readonly backend: StorageBackend
  /** The path within the backend, which keeps each user's files in a folder with the user's uuid as its name. */
  readonly backendPath: string
}

/** The mounts of `storage.mounts`, the same for every user, on the backends that are loaded now. */
export class Mounts {
  readonly #backends: RegistryReader<StorageBackend>
  readonly #reach: Reach
  readonly #watched = new WeakMap<StorageBackend, StorageBackend>()
  /** Longest path first. */
  readonly #mounts: readonly (readonly [point: UserPath, backend: string])[]

  /**
   * @param mounts paths to names of backends; `/` is `local` unless it says otherwise
   * @throws Error that names the key of the configuration to mend
   */
  constructor(
    mounts: Readonly<Record<string, string>>,
    backends: RegistryReader<StorageBackend>,
    reach: Reach,
  ) {
    const all = Object.entries({ '/': 'local', ...mounts }).map(([path, name]) => {
      return [userPath(path, `The mount "${path}" in storage.mounts`), name] as const
    })
    this.#mounts = all.toSorted(([a], [b]) => b.length - a.length)
    this.#backends = backends
    this.#reach = reach
    refuseAliases(all)
  }

  /** Every mount, and the name of its backend. */
  get all(): Iterable<readonly [point: UserPath, backend: string]> {
    return this.#mounts
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE when the backend of the path is not loaded */
  place(userUuid: string, path: UserPath): Place {
    const [mount, name] = this.#mountOf(path)
    const rest = mount === root ? path : path.slice(mount.length)
    const backendPath = rest === '/' ? `/${userUuid}` : `/${userUuid}${rest}`
    return { path, backend: this.backend(mount, name), backendPath }
  }

  /** @throws NodekeepError SERVICE_UNAVAILABLE when the backend is not loaded */
  backend(mount: UserPath, name: string): StorageBackend {
    const backend = this.#backends.get(name)
    if (backend === undefined) {
      const cause = new Error(`No plugin provides the backend "${name}".`)
      const message = `The storage of "${mount}" is out of reach now. Try again later.`
      throw this.#reach.lost(mount, new NodekeepError('SERVICE_UNAVAILABLE', message, { cause }))
    }
    let watched = this.#watched.get(backend)
    if (watched === undefined) {
      watched = watchedBackend(backend, mount, this.#reach)
      this.#watched.set(backend, watched)
    }
    return watched
  }

  /** The mount that a path belongs to. */
  pointOf(path: UserPath): UserPath {
    return this.#mountOf(path)[0]
  }

  /** Whether a mount begins exactly here. */
  isPoint(path: UserPath): boolean {
    return this.#mounts.some(([point]) => point === path)
  }

  /** Whether the path or something below it is a mount, so that it cannot be moved, removed or replaced. */
  holdsMount(path: UserPath): boolean {
    return this.#mounts.some(([point]) => isWithin(point, path))
  }

  /** Names in a folder that are mounts or lead to one. */
  namesIn(folder: UserPath): Set<string> {
    const start = folder === root ? 1 : folder.length + 1
    const below = this.#mounts.filter(([point]) => isBelow(point, folder))
    return new Set(below.map(([point]) => point.slice(start).split('/', 1)[0] as string))
  }

  #mountOf(path: UserPath) {
    const found = this.#mounts.find(([point]) => isWithin(path, point))
    if (found === undefined) throw new Error('Nothing is mounted at "/".')
    return found
  }
}

/**
 * One backend at two places would give files two paths, and locks, journal and moves know of one. Of two backends at one
 * place, one would be hidden.
 */
function refuseAliases(mounts: readonly (readonly [UserPath, string])[]): void {
  const points = new Map<string, string>()
  const seen = new Set<UserPath>()
  for (const [point, name] of mounts) {
    if (seen.has(point)) {
      throw new Error(
        `storage.mounts has "${point}" twice, written in two ways that are one in Unicode's NFC. Use one.`,
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

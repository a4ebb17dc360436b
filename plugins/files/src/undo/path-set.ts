import { parentOf, root, type UserPath } from '../paths/user-path.ts'

/**
 * Paths, to find those that are at a path, above it or below it. It holds no entries for the folders above them: a path has up to 2,000 of
 * those, and a user can make thousands of such paths by renaming the outermost folder.
 */
export class PathSet {
  /** In the order of their code units, in which all that begins with a path comes after it without a gap. */
  readonly #sorted: UserPath[] = []

  add(path: UserPath): void {
    const index = this.#firstFrom(path)
    if (this.#sorted[index] !== path) this.#sorted.splice(index, 0, path)
  }

  delete(path: UserPath): void {
    const index = this.#firstFrom(path)
    if (this.#sorted[index] === path) this.#sorted.splice(index, 1)
  }

  /** The path itself, if it is one of the paths, and all that are below it. */
  within(path: UserPath): UserPath[] {
    const start = path === root ? root : `${path}/`
    const own = this.#sorted[this.#firstFrom(path)]
    const first = this.#firstFrom(start)
    let end = first
    while (this.#sorted[end]?.startsWith(start)) end += 1
    const found = this.#sorted.slice(first, end)
    return own === path && path !== root ? [path, ...found] : found
  }

  /** One of the paths that are below a folder. */
  below(folder: UserPath): UserPath | undefined {
    const start = folder === root ? root : `${folder}/`
    const index = this.#firstFrom(start)
    const path = this.#sorted[this.#sorted[index] === folder ? index + 1 : index]
    return path?.startsWith(start) ? path : undefined
  }

  /** The nearest folder above a path that is one of the paths. */
  above(path: UserPath): UserPath | undefined {
    return path === root ? undefined : this.atOrAbove(parentOf(path))
  }

  /** The path itself, or the nearest folder above it that is one of the paths. */
  atOrAbove(path: UserPath): UserPath | undefined {
    for (let folder = path; ; ) {
      const index = this.#firstFrom(folder)
      if (this.#sorted[index] === folder) return folder
      const before = this.#sorted[index - 1]
      if (before === undefined || folder === root) return undefined
      // A folder above it comes before it, and so the path between the two begins with that folder.
      folder = commonFolder(folder, before)
    }
  }

  /** One of the paths that are at a path, above it or below it. */
  overlapping(path: UserPath): UserPath | undefined {
    return this.atOrAbove(path) ?? this.below(path)
  }

  /** The index of the first path that is not before a text. */
  #firstFrom(text: string): number {
    let start = 0
    for (let end = this.#sorted.length; start < end; ) {
      const middle = (start + end) >>> 1
      if ((this.#sorted[middle] as UserPath) < text) start = middle + 1
      else end = middle
    }
    return start
  }
}

/** The nearest folder above a path with which another path begins. */
function commonFolder(path: UserPath, other: UserPath): UserPath {
  let length = 0
  while (path[length] === other[length]) length += 1
  const end = path[length] === '/' ? length : path.lastIndexOf('/', length - 1)
  return (path.slice(0, end) || root) as UserPath
}

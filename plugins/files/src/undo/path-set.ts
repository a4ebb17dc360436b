import { foldersAbove, type UserPath } from '../paths/user-path.ts'

/** Paths, to find those that are at a path, above it or below it. */
export class PathSet {
  readonly #paths = new Set<UserPath>()
  /** A path in each folder that has one. */
  readonly #inFolders = new Map<UserPath, UserPath>()

  add(path: UserPath): void {
    this.#paths.add(path)
    for (const folder of foldersAbove(path)) {
      // The folders above it have one too.
      if (this.#inFolders.has(folder)) break
      this.#inFolders.set(folder, path)
    }
  }

  /** One of the paths that are below a folder. */
  below(folder: UserPath): UserPath | undefined {
    return this.#inFolders.get(folder)
  }

  /** The nearest folder above a path that is one of the paths. */
  above(path: UserPath): UserPath | undefined {
    return foldersAbove(path).find((folder) => this.#paths.has(folder))
  }

  /** The path itself, or the nearest folder above it that is one of the paths. */
  atOrAbove(path: UserPath): UserPath | undefined {
    return this.#paths.has(path) ? path : this.above(path)
  }

  /** One of the paths that are at a path, above it or below it. */
  overlapping(path: UserPath): UserPath | undefined {
    return this.atOrAbove(path) ?? this.below(path)
  }
}

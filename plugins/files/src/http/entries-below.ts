import type { FileListEntry, UserFiles } from '@nodekeep/plugin-sdk'
import { isGone } from './gone.ts'

/** Names of folders that a walk holds. */
const mostNames = 1000

/** A folder that was listed, and the folders in it that were not. */
interface Level {
  /** Characters of its path, which is the start of the current one. */
  readonly length: number
  /** Names of the next folders, sorted. */
  names: string[]
  /** Whether more folders follow than `names` has. */
  hasMore: boolean
  /** The last name that was in `names` and is not any more. */
  after: string
}

/**
 * Everything in a folder, a folder before what is in it. A folder that is gone has nothing in it.
 *
 * A reader may take any time. So of the folders that come later, no more than {@link mostNames} are held, and no listing is open for them:
 * if there are more, the folder that they are in is listed again.
 */
export async function* entriesBelow(
  files: UserFiles,
  folder: string,
): AsyncGenerator<FileListEntry, void, undefined> {
  const later = new LaterFolders(files)
  for (let path: string | undefined = folder; path !== undefined; path = await later.next()) {
    later.enter(path)
    try {
      for await (const entry of files.list(path)) {
        if (entry.type === 'directory') later.add(entry.name)
        yield entry
      }
    } catch (error) {
      if (path === folder || !isGone(error)) throw error
    }
  }
}

/** The folders of a walk that come later: those in the current folder, and those in the folders above it. */
class LaterFolders {
  readonly #files: UserFiles
  readonly #levels: Level[] = []
  #path = ''
  /** Names in all levels. */
  #count = 0

  constructor(files: UserFiles) {
    this.#files = files
  }

  /** Makes a folder the current one. */
  enter(path: string): void {
    this.#path = path === '/' ? '' : path
    this.#levels.push({ length: this.#path.length, names: [], hasMore: false, after: '' })
  }

  /** Adds a folder that is in the current one, in the order of names. */
  add(name: string): void {
    this.#hold(this.#levels.at(-1) as Level, name)
  }

  /** Removes the next folder, and returns its path. */
  async next(): Promise<string | undefined> {
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      if (level.names.length === 0 && level.hasMore) await this.#listAgain(level)
      const name = level.names.shift()
      // A path of a thousand folders has few that are needed again.
      if (level.names.length === 0 && !level.hasMore) this.#levels.pop()
      if (name === undefined) continue
      this.#count -= 1
      level.after = name
      return `${this.#path.slice(0, level.length)}/${name}`
    }
    return undefined
  }

  async #listAgain(level: Level): Promise<void> {
    level.hasMore = false
    try {
      const path = this.#path.slice(0, level.length) || '/'
      for await (const { name, type } of this.#files.list(path, { after: level.after })) {
        if (type === 'directory') this.#hold(level, name)
        if (level.hasMore) return
      }
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  #hold(level: Level, name: string): void {
    if (level.hasMore || level.names.length === mostNames) {
      level.hasMore = true
      return
    }
    level.names.push(name)
    this.#count += 1
    // The folders of the highest levels come last.
    for (const other of this.#levels) {
      if (this.#count <= mostNames) break
      other.hasMore ||= other.names.length > 0
      this.#count -= other.names.length
      other.names = []
    }
  }
}

import type { EntryReader, TreeState } from '../entries/entry-reader.ts'
import type { FoundEntry, KnownEntry, ListedFile, PlacedEntry } from '../entries/known-entry.ts'
import type { Journal } from '../journal/journal.ts'
import { childOf, type UserPath } from '../paths/user-path.ts'

/** Entries that the index takes at a time, each with the folders above it. */
const putEntries = 64

/** A user's files on one mount, by the index. */
interface IndexTreeOptions {
  readonly userUuid: string
  readonly mount: UserPath
  /** The name of the backend. */
  readonly storage: string
}

/** The index of a user's files on one mount, by their paths for the user. What it has follows the journal. */
export class IndexTree {
  readonly #journal: Journal
  readonly #options: IndexTreeOptions
  #state: TreeState

  private constructor(journal: Journal, options: IndexTreeOptions, state: TreeState) {
    this.#journal = journal
    this.#options = options
    this.#state = state
  }

  /** Opens the tree of the files that the backend has now. It is made if there is none. */
  static async open(journal: Journal, options: IndexTreeOptions): Promise<IndexTree> {
    const { userUuid, storage } = options
    await journal.index({ kind: 'tree', user: userUuid, storage })
    const state = (await journal.entriesOf(userUuid)).tree(userUuid, storage)
    if (state === null) throw new Error(`The index has no tree of the storage "${storage}".`)
    return new IndexTree(journal, options, state)
  }

  /** Whether the index has all entries. */
  get isComplete(): boolean {
    return this.#state.isComplete
  }

  /** When all of it was compared with the storage last, in milliseconds since 1970; 0 for never. */
  get comparedAt(): number {
    return this.#state.comparedAt
  }

  async get(path: UserPath): Promise<KnownEntry | null> {
    return (await this.#reader()).at(this.#options.userUuid, path)
  }

  /** The id of the folder at a path, also of the mount; null if the index has none there. */
  async folderAt(path: UserPath): Promise<number | null> {
    return (await this.#reader()).folderAt(this.#options.userUuid, path)?.id ?? null
  }

  /** The first entries of the folder with an id after a name, by name. */
  async page(folder: number, after: string, limit: number): Promise<KnownEntry[]> {
    return (await this.#reader()).page(folder, after, limit)
  }

  /** The paths of files with a revision. */
  async pathsOf(revision: string): Promise<UserPath[]> {
    const { mount } = this.#options
    const places = (await this.#reader()).placesOf(this.#state, revision)
    return places.map((names) => names.reduce(childOf, mount))
  }

  /** The kept entry at names from the folder of kept files on. */
  async keptAt(names: readonly string[]): Promise<KnownEntry | null> {
    const reader = await this.#reader()
    return reader.below(this.#keptRoot(reader), names)
  }

  /** The first entries of a kept folder after a name, by name. */
  async keptPage(folder: readonly string[], after: string, limit: number): Promise<KnownEntry[]> {
    const reader = await this.#reader()
    return reader.pageBelow(this.#keptRoot(reader), folder, after, limit)
  }

  /** Takes kept entries as they are, `null` for nothing, by their names from the folder of kept files on. */
  async putKept(entries: readonly PlacedEntry[]): Promise<void> {
    for (let start = 0; start < entries.length; start += putEntries) {
      const page = entries.slice(start, start + putEntries)
      await this.#journal.index({ kind: 'put-kept', tree: this.#state.id, entries: page })
    }
  }

  /** Takes entries as they are, `null` for nothing. Folders above them are added. */
  async put(entries: readonly (readonly [path: UserPath, entry: FoundEntry | null])[]): Promise<void> {
    for (let start = 0; start < entries.length; start += putEntries) {
      const page = entries.slice(start, start + putEntries)
      const placed = page.map(([path, entry]) => [this.#namesOf(path), entry] as const)
      await this.#journal.index({ kind: 'put-entries', tree: this.#state.id, entries: placed })
    }
  }

  /** Remembers what a listing told of files. Nothing happens for a file that does not have its revision any more. */
  async putListed(files: readonly ListedFile[]): Promise<void> {
    if (files.length > 0) await this.#journal.index({ kind: 'put-listed', files })
  }

  /** Takes note that all of it was compared with the storage. */
  async complete(): Promise<void> {
    const at = Date.now()
    await this.#journal.index({ kind: 'complete', tree: this.#state.id, at })
    this.#state = { ...this.#state, isComplete: true, comparedAt: at }
  }

  /** It is made with the first kept entry. */
  #keptRoot(reader: EntryReader): number {
    const { userUuid, storage } = this.#options
    return reader.tree(userUuid, storage)?.keptRoot ?? 0
  }

  #namesOf(path: UserPath): string[] {
    const { mount } = this.#options
    return path === mount ? [] : path.slice(mount === '/' ? 1 : mount.length + 1).split('/')
  }

  #reader(): Promise<EntryReader> {
    return this.#journal.entriesOf(this.#options.userUuid)
  }
}

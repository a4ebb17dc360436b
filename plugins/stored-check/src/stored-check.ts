import {
  FairSlots,
  type FileIndex,
  type IndexedEntry,
  type Log,
  NodekeepError,
  type TriedBackup,
  type TriedBackups,
  type User,
  type UserFileIndex,
} from '@nodekeep/plugin-sdk'
import { type FileRead, ReadBacks } from './read-backs.ts'

/** Requests of a user at a time. */
const mostRequests = 4

/** Milliseconds after which a request answers with what is known. Proxies end requests that are silent for a minute. */
const answerMs = 10_000

/** A file of a device. */
interface AskedFile {
  /** Bytes. */
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
  /** Without folders. */
  readonly name: string
}

/** The states of a content that are not `stored`, the first one that holds is told. */
const troubles = ['damaged', 'unreadable', 'changed'] as const

type Trouble = (typeof troubles)[number]

/** The answer about a file of a device. */
interface CheckedFile {
  readonly state: 'stored' | Trouble | 'pending' | 'unlisted' | 'shorter' | 'other' | 'absent'
  /** The file of the node that the state is about. */
  readonly path: string | null
  /** The newest backup with the content of a stored file that was tried out. */
  readonly backup: TriedBackup | null
}

interface StoredCheckServices {
  readonly index: FileIndex
  readonly backups: TriedBackups | undefined
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Tells whether files of a device are stored. It says so of no file whose bytes it has not read since it was asked. */
export class StoredCheck {
  readonly #services: StoredCheckServices
  readonly #slots = new FairSlots({ mostPerKey: mostRequests })
  readonly #reads: ReadBacks

  constructor(services: StoredCheckServices) {
    this.#services = services
    this.#reads = new ReadBacks(services)
  }

  /**
   * @param signal aborted when the client leaves
   * @returns one answer for each file, in their order
   * @throws NodekeepError TOO_MANY_REQUESTS if too many of the user's requests run; the reason of the signal
   */
  async check(
    user: Pick<User, 'uuid'>,
    asked: readonly AskedFile[],
    signal: AbortSignal,
  ): Promise<CheckedFile[]> {
    if (this.#slots.isFull(user.uuid)) throw tooMany()
    return this.#slots.run(user.uuid, async () => {
      const end = performance.now() + answerMs
      const index = this.#services.index.for(user)
      const search = new Search(index, asked, (path) => this.#reads.read(user.uuid, path, { end, signal }))
      const found = await search.run(signal)
      return this.#withBackups(user, asked, found)
    })
  }

  async #withBackups(
    user: Pick<User, 'uuid'>,
    asked: readonly AskedFile[],
    found: readonly Omit<CheckedFile, 'backup'>[],
  ): Promise<CheckedFile[]> {
    const stored = asked.filter((_, at) => found[at]?.state === 'stored').map(({ sha256 }) => sha256)
    const backups = await this.#services.backups?.having(user, stored)
    const inBackups = (backups ?? []).values()
    return found.map((one) => {
      return { ...one, backup: one.state === 'stored' ? (inBackups.next().value ?? null) : null }
    })
  }
}

/** A content that is looked for. An empty one is looked for by name: it is in every empty file. */
interface Wanted {
  readonly asked: AskedFile
  /** The path of a file that has it, and was read. */
  stored: string | null
  trouble: { readonly state: Trouble; readonly path: string | null } | null
}

/** Looks for the files of one request. */
class Search {
  readonly #index: UserFileIndex
  readonly #asked: readonly AskedFile[]
  readonly #read: (path: string) => Promise<FileRead>
  readonly #wanted = new Map<string, Wanted>()
  /** Files that have a name that was asked for: the first one that is shorter, otherwise the first one. */
  readonly #named = new Map<string, Pick<IndexedEntry, 'path' | 'size'>>()
  /** Whether the time is over, so that what is left is `pending`. */
  #isLate = false

  constructor(index: UserFileIndex, asked: readonly AskedFile[], read: (path: string) => Promise<FileRead>) {
    this.#index = index
    this.#asked = asked
    this.#read = read
    for (const file of asked) this.#wanted.set(keyOf(file), { asked: file, stored: null, trouble: null })
  }

  async run(signal: AbortSignal): Promise<Omit<CheckedFile, 'backup'>[]> {
    // Otherwise an entry could come between the search and the question.
    const isComplete = await this.#index.isComplete()
    for (const wanted of this.#wanted.values()) {
      signal.throwIfAborted()
      if (wanted.asked.size > 0) await this.#findKnown(wanted)
    }
    if (!this.#isLate) await this.#findOthers(signal)
    return this.#asked.map((file) => this.#answer(file, isComplete))
  }

  /** Reads the files that had this content when they were last hashed, until one has it. */
  async #findKnown(wanted: Wanted): Promise<void> {
    for (const place of await this.#index.withContent(wanted.asked.sha256)) {
      if (wanted.stored !== null || this.#isLate) return
      if (place.size === wanted.asked.size) await this.#readBack(place, wanted)
    }
  }

  /**
   * Looks for files of the same name, and reads those of the same size that may have the content: it is not known, or the name is the same.
   * Another program may have changed a file and neither its size nor its time.
   */
  async #findOthers(signal: AbortSignal): Promise<void> {
    // Several names may have one content.
    const open = this.#asked.filter((file) => (this.#wanted.get(keyOf(file))?.stored ?? null) === null)
    if (open.length === 0) return
    const sizes = new Set(open.map(({ size }) => size).filter((size) => size > 0))
    const names = new Set(open.map(({ name }) => name.normalize('NFC')))
    for await (const entry of this.#index.matching({ sizes, names }, signal)) {
      if (this.#isLate) return
      const name = entry.name.normalize('NFC')
      if (names.has(name)) this.#keepNamed(name, entry)
      const isEmptyOne = entry.size === 0 && this.#wanted.has(keyOf({ size: 0, sha256: '', name }))
      const mayHaveIt = entry.sha256 === null || (names.has(name) && !this.#wasRead(entry))
      if (isEmptyOne || (sizes.has(entry.size) && mayHaveIt && this.#isOpen(entry.size)))
        await this.#readBack(entry, null)
    }
  }

  /** Whether the file was read because it had a content that is looked for. */
  #wasRead({ size, sha256, name }: IndexedEntry): boolean {
    return this.#wanted.has(keyOf({ size, sha256: sha256 ?? '', name }))
  }

  #isOpen(size: number): boolean {
    return this.#wanted.values().some(({ asked, stored }) => stored === null && asked.size === size)
  }

  #keepNamed(name: string, { path, size }: IndexedEntry): void {
    const kept = this.#named.get(name)
    if (kept === undefined || size < kept.size) this.#named.set(name, { path, size })
  }

  /**
   * Reads a file of the node, and notes what it has.
   *
   * @param expected the content that it had; null if that is not known
   */
  async #readBack(place: IndexedEntry, expected: Wanted | null): Promise<void> {
    const { path } = place
    const read = await this.#read(path)
    if (read === 'late') {
      this.#isLate = true
    } else if (read === 'unreadable') {
      for (const wanted of expected === null ? this.#ofSize(place) : [expected])
        note(wanted, 'unreadable', path)
    } else if (read === null) {
      const now = await this.#index.entry(place.id)
      // It was deleted, or moved while it was read.
      if (now === null) return
      if (now.path !== path) return this.#readBack(now, expected)
      for (const wanted of expected === null ? this.#ofSize(place) : [expected]) note(wanted, 'changed', path)
    } else {
      const found = this.#wanted.get(keyOf({ ...read, name: place.name }))
      if (found !== undefined) found.stored ??= path
      if (expected !== null && found !== expected)
        note(expected, read.revision === place.revision ? 'damaged' : 'changed', path)
    }
  }

  /** The contents that a file could have, by its size. */
  #ofSize({ size, name }: IndexedEntry): Iterable<Wanted> {
    const same = (asked: AskedFile) => size > 0 || asked.name.normalize('NFC') === name.normalize('NFC')
    return this.#wanted.values().filter(({ asked }) => asked.size === size && same(asked))
  }

  #answer(file: AskedFile, isComplete: boolean): Omit<CheckedFile, 'backup'> {
    const { stored = null, trouble = null } = this.#wanted.get(keyOf(file)) ?? {}
    if (stored !== null) return { state: 'stored', path: stored }
    if (this.#isLate) return { state: 'pending', path: null }
    if (trouble !== null) return trouble
    if (!isComplete) return { state: 'unlisted', path: null }
    const named = this.#named.get(file.name.normalize('NFC'))
    if (named === undefined) return { state: 'absent', path: null }
    return { state: named.size < file.size ? 'shorter' : 'other', path: named.path }
  }
}

function note(wanted: Wanted, state: Trouble, path: string): void {
  const { trouble } = wanted
  if (trouble !== null && troubles.indexOf(trouble.state) <= troubles.indexOf(state)) return
  wanted.trouble = { state, path }
}

function keyOf({ size, sha256, name }: AskedFile): string {
  return size === 0 ? `empty ${name.normalize('NFC')}` : `${size} ${sha256}`
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `${mostRequests} checks of yours run already. Try again when one is answered.`,
    { headers: { 'retry-after': '5' } },
  )
}

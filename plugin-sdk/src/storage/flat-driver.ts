import { randomUUID } from 'node:crypto'
import { concurrently } from '../concurrency/concurrently.ts'
import type {
  FlatCopyOptions,
  FlatObject,
  FlatPage,
  FlatPageOptions,
  FlatStore,
} from '../contracts/flat-store.ts'
import type { StorageEntry, StorageListEntry } from '../contracts/storage.ts'
import type {
  StorageDriver,
  StorageDriverCallOptions,
  StorageDriverCopyOptions,
  StorageDriverListOptions,
  StorageDriverReading,
  StorageDriverReadOptions,
  StorageDriverRemoveOptions,
  StorageDriverWriteOptions,
} from '../contracts/storage-driver.ts'
import { nameOf } from '../entry-paths.ts'
import { NodekeepError } from '../errors.ts'
import { fileAbove, missingAbove, notEmpty, refuseWrite } from './conditions.ts'
import { HeldEntries, namesAfter, startAfter } from './held-entries.ts'

/**
 * Makes a storage driver of a store of objects under flat keys. The driver finds folders and their order, keeps folders by markers,
 * and checks what a write replaces.
 *
 * @example
 * const store: FlatStore = {
 *   supports: { durable: true, conditionalWrites: true },
 *   page: async (prefix, { isDeep, after, next, signal }) => pageOf(await client.list({ prefix, isDeep, after, next }, signal)),
 *   head: async (key, { signal }) => objectOf(key, await client.head(key, signal)),
 *   async get(key, { start, end, signal }) {
 *     const answer = await client.get(key, { range: `bytes=${start}-${end ?? ''}`, signal })
 *     return answer && { object: objectOf(key, answer), content: answer.body }
 *   },
 *   async put(key, content, { replaces, beforeCommit, signal, ...metadata }) {
 *     const body = heldBack(content, beforeCommit)
 *     return objectOf(key, await client.put(key, body, { metadata, ifMatch: replaces?.etag, signal }))
 *   },
 *   delete: (keys, { signal }) => client.delete(keys, signal),
 *   probe: (signal) => client.ping(signal),
 *   close: () => client.close(),
 * }
 * backends.add('acme', createStorageBackend(flatDriver(store)))
 */
export function flatDriver(store: FlatStore): StorageDriver {
  return new FlatDriver(store)
}

/** The bytes up to which a store with `conditionalWrites` checks the condition of a write in its last step. */
const atomicBytes = 1024 * 1024

/** Markers of folders that are put at a time. */
const markersAtATime = 8

/** Names of a page that is to show a file `a` or a folder `a/`. Those between them, such as `a-b` and `a.txt`, are few. */
const namesAtOnce = 4

/** The longest name of an entry, in bytes of UTF-8. */
const longestName = 255

/** The entries at the path of a new file, and above it. */
interface Surroundings {
  /** The object at the path, if the store was asked. */
  readonly object: FlatObject | null
  /** The entry that is replaced, if the driver checks that. */
  readonly replaced?: StorageEntry | null
  /** The folders above that do not exist. */
  readonly missing: readonly string[]
}

class FlatDriver implements StorageDriver {
  readonly copy?: Required<StorageDriver>['copy']
  readonly watch?: Required<StorageDriver>['watch']
  readonly storageId?: Required<StorageDriver>['storageId']
  readonly #store: FlatStore

  constructor(store: FlatStore) {
    this.#store = store
    if (store.copy) this.copy = (source, destination, options) => this.#copy(source, destination, options)
    if (store.watch) this.watch = store.watch.bind(store)
    if (store.storageId) this.storageId = store.storageId.bind(store)
  }

  get supports(): FlatStore['supports'] {
    return this.#store.supports
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#store.probe(signal)
  }

  async stat(path: string, { signal }: StorageDriverCallOptions): Promise<StorageEntry> {
    const object = path === '/' ? null : await this.#store.head(keyOf(path), { signal })
    return object === null ? this.#statFolder(path, signal) : fileEntry(object)
  }

  async *list(
    path: string,
    { after = '', signal }: StorageDriverListOptions,
  ): AsyncGenerator<StorageListEntry, void, undefined> {
    const prefix = path === '/' ? '' : markerOf(path)
    const start = startAfter(after)
    const held = new HeldEntries(after)
    const options = { isDeep: false, signal, ...(start !== '' && { after: prefix + start }) }
    for await (const page of this.#pages(prefix, options)) {
      for (const object of page.objects)
        if (isName(object.key.slice(prefix.length))) held.add(listEntry(object))
      for (const folder of page.folders) {
        const name = folder.slice(prefix.length, -1)
        if (isName(name)) held.add(folderEntry(name))
      }
      if (page.next !== null) yield* this.#ready(held, prefix, page, signal)
    }
    yield* held.before()
  }

  async open(path: string, { start, end, signal }: StorageDriverReadOptions): Promise<StorageDriverReading> {
    const reading = path === '/' ? null : await this.#store.get(keyOf(path), { start, end, signal })
    if (reading === null) return { entry: await this.#statFolder(path, signal), content: new Uint8Array() }
    const { object, ...content } = reading
    return { entry: fileEntry(object), ...content }
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    const { size, ifRevision, ifAbsent, known, signal } = options
    const isChecked = this.supports.conditionalWrites === true
    const isAtomic = size !== undefined && size <= atomicBytes
    // A large upload that cannot succeed is refused early. For `ifRevision`, the store needs the object that must still be there.
    const isEarly = ifRevision !== undefined || (!isAtomic && known === undefined)
    const early = isChecked && isEarly ? await this.#check(path, options) : null
    const look = async () => {
      if (!isChecked) return { object: null, missing: await this.#missingFolders(path, signal) }
      return isAtomic && early !== null ? early : this.#check(path, options)
    }
    const hasCondition = isChecked && (ifAbsent === true || ifRevision !== undefined)
    return this.#change(options, look, (details) =>
      this.#store.put(keyOf(path), content, {
        ...details,
        ...(size !== undefined && { size }),
        ...(hasCondition && { replaces: early?.object ?? null }),
      }),
    )
  }

  async makeDirectory(path: string, { signal }: StorageDriverCallOptions): Promise<void> {
    await this.#putMarkers([path, ...(await this.#missingFolders(path, signal))], signal)
  }

  async remove(
    path: string,
    { type, onlyIfEmpty = false, progress, signal }: StorageDriverRemoveOptions,
  ): Promise<void> {
    if (type !== 'directory') return this.#store.delete([keyOf(path)], { signal })
    if (onlyIfEmpty) return this.#removeEmpty(markerOf(path), signal)
    for await (const { objects } of this.#pages(markerOf(path), { isDeep: true, signal })) {
      const keys = objects.map(({ key }) => key)
      if (keys.length > 0) await this.#store.delete(keys, { signal })
      progress()
    }
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** Removes a marker. Objects that are put meanwhile stay. */
  async #removeEmpty(marker: string, signal: AbortSignal): Promise<void> {
    for await (const { objects } of this.#pages(marker, { isDeep: true, limit: 2, signal }))
      if (objects.some(({ key }) => key !== marker)) throw notEmpty()
    await this.#store.delete([marker], { signal })
  }

  #copy(source: string, destination: string, options: StorageDriverCopyOptions): Promise<StorageEntry> {
    const { size, signal } = options
    const look = async () => ({ missing: await this.#missingFolders(destination, signal) })
    return this.#change(options, look, (details) =>
      (this.#store as Required<FlatStore>).copy(keyOf(source), keyOf(destination), { ...details, size }),
    )
  }

  /**
   * Makes an object visible, then the missing folders above it.
   *
   * @param look looks around right before the last step
   */
  async #change(
    { modified, kept, signal, beforeCommit }: Omit<StorageDriverCopyOptions, 'size'>,
    look: () => Promise<Pick<Surroundings, 'replaced' | 'missing'>>,
    change: (details: Omit<FlatCopyOptions, 'size'>) => Promise<FlatObject>,
  ): Promise<StorageEntry> {
    const { revision, created } = kept ?? { revision: randomUUID(), created: new Date() }
    let missing: readonly string[] = []
    // Clients of servers wrap the errors of a content in errors of their own.
    const refusals: unknown[] = []
    const details = {
      revision,
      created,
      ...(modified && { modified }),
      signal,
      async beforeCommit() {
        try {
          const found = await look()
          missing = found.missing
          await beforeCommit({ revision, ...(found.replaced !== undefined && { replaced: found.replaced }) })
        } catch (error) {
          refusals.push(error)
          throw error
        }
      },
    }
    const object = await change(details).catch((error: unknown) => {
      throw refusals.length > 0 ? refusals[0] : error
    })
    if (refusals.length > 0) throw refusals[0]
    await this.#putMarkers(missing, signal)
    return fileEntry(object)
  }

  /** Looks what a write replaces, and throws if it is not possible. */
  async #check(path: string, options: StorageDriverWriteOptions): Promise<Surroundings> {
    const { known, ifRevision, signal } = options
    if (known?.destination !== undefined && ifRevision === undefined) {
      const replaced = known.destination
      refuseWrite(replaced, options)
      const missing = replaced === null ? await this.#missingFolders(path, signal) : []
      return { object: null, replaced, missing }
    }
    const head = () => this.#store.head(keyOf(path), { signal })
    let object = ifRevision === undefined ? null : await head()
    let type = null as StorageEntry['type'] | null
    let missing: readonly string[] = []
    const looks = [
      async () => {
        type = await this.#typeAt(path, signal)
      },
      async () => {
        missing = await this.#missingFolders(path, signal)
      },
    ]
    // A new file, the usual case, needs two requests, which go at once. Listings tell no revisions, so a file that is replaced needs one more.
    if (object === null) await concurrently(looks, looks.length, (look) => look())
    if (type === 'file') object = await head()
    if (object !== null) {
      const replaced = fileEntry(object)
      refuseWrite(replaced, options)
      return { object, replaced, missing: [] }
    }
    // Where a file is above the path, no folder is.
    const highest = missing.at(-1)
    if (highest !== undefined && (await this.#store.head(keyOf(highest), { signal })) !== null)
      throw fileAbove()
    refuseWrite(type === 'directory' ? folderEntry(nameOf(path)) : null, options)
    return { object: null, replaced: null, missing }
  }

  async #statFolder(path: string, signal: AbortSignal): Promise<StorageEntry> {
    if (path === '/' || (await this.#isFolder(path, signal))) return folderEntry(nameOf(path))
    throw new NodekeepError('NOT_FOUND', 'There is no file or folder at this path.')
  }

  /** Returns the type of the entry at a path, with one request unless many names begin like it. A file counts more than a folder. */
  async #typeAt(path: string, signal: AbortSignal): Promise<StorageEntry['type'] | null> {
    const [key, marker] = [keyOf(path), markerOf(path)]
    for await (const page of this.#pages(key, { isDeep: false, limit: namesAtOnce, signal })) {
      if (page.objects.some((object) => object.key === key)) return 'file'
      if (page.folders.includes(marker)) return 'directory'
      const last = lastKey(page)
      if (page.next === null || isBefore(marker, last)) return null
      if (last !== '') break
    }
    return (await this.#isFolder(path, signal)) ? 'directory' : null
  }

  async #isFolder(path: string, signal: AbortSignal): Promise<boolean> {
    for await (const { objects } of this.#pages(markerOf(path), { isDeep: true, limit: 1, signal }))
      if (objects.length > 0) return true
    return false
  }

  #missingFolders(path: string, signal: AbortSignal): Promise<readonly string[]> {
    return missingAbove(path, (folder) => this.#isFolder(folder, signal))
  }

  #putMarkers(folders: readonly string[], signal: AbortSignal): Promise<void> {
    return concurrently(folders, markersAtATime, async (folder) => {
      const details = { revision: randomUUID(), created: new Date(), size: 0, beforeCommit: async () => {} }
      await this.#store.put(markerOf(folder), noBytes(), { ...details, signal })
    })
  }

  async *#pages(
    prefix: string,
    options: Omit<FlatPageOptions, 'next'>,
  ): AsyncGenerator<FlatPage, void, undefined> {
    let page: FlatPage | null = null
    do {
      page = await this.#store.page(prefix, { ...options, ...(page?.next && { next: page.next }) })
      yield page
    } while (page.next !== null)
  }

  /** The entries that may be passed on after a page that is not the last. */
  async *#ready(
    held: HeldEntries,
    prefix: string,
    page: FlatPage,
    signal: AbortSignal,
  ): AsyncGenerator<StorageListEntry, void, undefined> {
    const { folders, bound } = namesAfter(lastKey(page).slice(prefix.length))
    for (const name of folders) {
      yield* held.before(name)
      // Few entries can wait for the next page. For many, ask whether this folder follows: a large folder is never held whole.
      if (held.size <= (page.objects.length + page.folders.length) / 2) return
      if (isName(name) && !held.has(name) && (await this.#isFolder(`/${prefix}${name}`, signal)))
        held.add(folderEntry(name))
    }
    yield* held.before(bound)
  }
}

function keyOf(path: string): string {
  return path.slice(1)
}

/** Returns the key of the empty object that keeps a folder. All keys below the folder begin with it. */
function markerOf(path: string): string {
  return `${keyOf(path)}/`
}

async function* noBytes(): AsyncGenerator<Uint8Array, void, undefined> {}

/** Returns the last key of a page in the order of bytes; the empty text for an empty page. */
function lastKey({ objects, folders }: FlatPage): string {
  const [object, folder] = [objects.at(-1)?.key ?? '', folders.at(-1) ?? '']
  return isBefore(folder, object) ? object : folder
}

/** Compares keys in the order of their bytes. */
function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0
}

/** Whether an entry can have a name. Other programs may have stored others, which no path leads to. */
function isName(name: string): boolean {
  return (
    !['', '.', '..'].includes(name) &&
    Buffer.byteLength(name) <= longestName &&
    name.normalize('NFC') === name
  )
}

function fileEntry({ key, size, modified, created = modified, revision }: FlatObject): StorageEntry {
  return { name: nameOf(key), type: 'file', size, modified, created, revision: revision as string }
}

/** Pages of stores that list no metadata tell neither the revision nor the date of creation. */
function listEntry(object: FlatObject): StorageListEntry {
  if (object.revision !== undefined) return fileEntry(object)
  const { key, size, modified, etag } = object
  return { name: nameOf(key), type: 'file', size, modified, ...(etag !== undefined && { etag }) }
}

/** The dates and the revision of a folder mean nothing. */
function folderEntry(name: string): StorageEntry {
  return { name, type: 'directory', size: 0, modified: new Date(0), created: new Date(0), revision: 'folder' }
}

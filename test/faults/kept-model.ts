import { isWithin, parentsOf } from './files-tree.ts'
import type { StorageKind } from './fixtures/crashing-node.ts'

/** A file with its content, or a folder. The key of a file stays through moves, deletions and returns: its versions hang on it. */
interface Entry {
  readonly content: string | null
  readonly key: number
}

/** Entries by path. The path of a kept entry itself is empty. */
type Entries = ReadonlyMap<string, Entry>

/** An item of the trash, or a former content of a file. */
export interface Kept {
  /** The key of the file of which it is a version; null for an item of the trash. */
  readonly of: number | null
  readonly path: string
  readonly entries: Entries
  /** Since when it is kept: `day` has to be thinned and may give way to others, `month` has to go. */
  readonly age: 'new' | 'day' | 'month'
  /** Whether it stays for the whole time. */
  readonly isHandover: boolean
}

/** A change, as a client requests it. Items and versions are counted from the newest one. */
export type KeptChange =
  | { readonly op: 'write'; readonly path: string; readonly content: string }
  | { readonly op: 'mkdir'; readonly path: string }
  | { readonly op: 'delete'; readonly path: string; readonly permanent: boolean }
  | { readonly op: 'move' | 'copy'; readonly source: string; readonly path: string }
  | { readonly op: 'restore'; readonly index: number; readonly path: string | null }
  | { readonly op: 'restore version' | 'delete version'; readonly path: string; readonly index: number }
  | { readonly op: 'delete item'; readonly index: number }
  | { readonly op: 'empty trash' }
  | { readonly op: 'undo'; readonly group: string }

let lastKey = 0

/** Returns a key that no file has. Those of the index are positive. */
function newKey(): number {
  lastKey -= 1
  return lastKey
}

/** The files of one user as a map of paths, and all that is kept of them. */
export class KeptModel {
  readonly tree: Map<string, Entry>
  /** The oldest first. */
  kept: Kept[]

  constructor(tree: Entries = new Map(), kept: readonly Kept[] = []) {
    this.tree = new Map(tree)
    this.kept = [...kept]
  }

  /** The items of the trash, the newest first. */
  get items(): Kept[] {
    return this.kept.filter(({ of }) => of === null).reverse()
  }

  /** The versions of the file at a path, the newest first. */
  versions(path: string): Kept[] {
    return this.#versionsOf(this.tree.get(path)?.key)
  }

  /** The versions of files that are gone. They may go at any time. */
  get orphans(): Kept[] {
    const keys = new Set(this.#all().map(({ key }) => key))
    return this.kept.filter(({ of }) => of !== null && !keys.has(of))
  }

  /** All contents, each as often as it is there. */
  get contents(): string[] {
    return this.#all().flatMap(({ content }) => content ?? [])
  }

  /** The bytes of all contents, and of those that stay. */
  get bytes(): { readonly most: number; readonly least: number } {
    const most = this.contents.reduce((sum, content) => sum + sizeOf(content), 0)
    const orphaned = this.orphans.flatMap(({ entries }) => [...entries.values()])
    return { most, least: most - orphaned.reduce((sum, { content }) => sum + sizeOf(content), 0) }
  }

  /** Whether something kept may give way to a new file. */
  get mayGiveWay(): boolean {
    return this.kept.some(({ age }) => age !== 'new')
  }

  /** The contents of files by path, and of all that is kept of them, without the versions of files that are gone. */
  summary(): object {
    const ofEntries = (entries: Entries) =>
      sorted(entries).map(([path, { content, key }]) => [
        path,
        content,
        this.#versionsOf(key).flatMap(({ entries }) => entries.get('')?.content ?? []),
      ])
    return {
      files: ofEntries(this.tree),
      trash: this.items.map(({ path, entries }) => [path, ofEntries(entries)]),
    }
  }

  /** Returns the bytes for which a change needs room. */
  bytesFor(change: KeptChange, kind: StorageKind): number {
    if (change.op === 'write') return sizeOf(change.content)
    if (change.op !== 'copy' && !(change.op === 'move' && kind === 'copies')) return 0
    return this.contentsIn(change.source).reduce((sum, content) => sum + sizeOf(content), 0)
  }

  /** The contents of a file, or of all files in a folder. */
  contentsIn(path: string): string[] {
    return this.#within(path).flatMap(([, { content }]) => content ?? [])
  }

  /** Returns the files after a change other than an undo; null if it is impossible. */
  after(change: KeptChange): KeptModel | null {
    const next = new KeptModel(this.tree, this.kept)
    return next.#apply(change) ? next : null
  }

  /** Returns the files with the first of the folders above a path that are missing. */
  withParents(path: string, count = Number.POSITIVE_INFINITY): KeptModel {
    const next = new KeptModel(this.tree, this.kept)
    const missing = parentsOf(path).filter((parent) => !this.tree.has(parent))
    for (const parent of missing.slice(0, count)) next.tree.set(parent, folder)
    return next
  }

  /** Returns the files after a purge. */
  purged(): KeptModel {
    const thinned = new Set<number>()
    const isKept = ({ age, of, isHandover }: Kept) => {
      if (age !== 'day' || of === null) return age !== 'month'
      const isLast = !thinned.has(of)
      if (isLast || isHandover) thinned.add(of)
      return isLast || isHandover
    }
    return new KeptModel(this.tree, this.kept.toReversed().filter(isKept).reverse())
  }

  /** The path at which a restore puts an item. */
  restoredPath({ index, path }: { readonly index: number; readonly path: string | null }): string {
    const wanted = path ?? this.items[index]?.path ?? ''
    for (let number = 1; ; number += 1) {
      const free = number === 1 ? wanted : `${wanted} (${number})`
      if (!this.tree.has(free)) return free
    }
  }

  #apply(change: KeptChange): boolean {
    switch (change.op) {
      case 'write':
        return this.#write(change.path, change.content)
      case 'mkdir':
        return this.#put(change.path, new Map([['', folder]]))
      case 'delete':
        if (!this.tree.has(change.path)) return false
        if (change.permanent) this.#take(change.path)
        else this.#keepItem(change.path)
        return true
      case 'move':
        return this.#transfer(change, true)
      case 'copy':
        return this.#transfer(change, false)
      case 'restore': {
        const item = this.items[change.index]
        if (item === undefined || !this.#put(this.restoredPath(change), item.entries)) return false
        this.#forget([item])
        return true
      }
      case 'restore version':
        return this.#restoreVersion(change.path, this.versions(change.path)[change.index])
      case 'delete version':
        return this.#forget(this.versions(change.path).slice(change.index, change.index + 1))
      // The versions of their files go next. If a crash or a fault comes before, the answer is the same, and the purge removes them.
      case 'delete item':
        return this.#forget(this.items.slice(change.index, change.index + 1))
      case 'empty trash':
        this.#forget(this.items)
        return true
      case 'undo':
        throw new Error('An undo depends on what was done.')
    }
  }

  #write(path: string, content: string): boolean {
    const there = this.tree.get(path)
    if (there?.content === null) return false
    if (there === undefined) return this.#put(path, new Map([['', { content, key: newKey() }]]))
    this.#keepVersion(path, there)
    this.tree.set(path, { content, key: there.key })
    return true
  }

  #transfer({ source, path }: { readonly source: string; readonly path: string }, isMoved: boolean): boolean {
    const moved = this.tree.get(source)
    if (moved === undefined || isWithin(path, source) || isWithin(source, path) || this.#isBlocked(path))
      return false
    const there = this.tree.get(path)
    const isSame = ({ content, key }: Entry) => ({ content, key: isMoved ? key : newKey() })
    const entries = this.#within(source).map(
      ([key, entry]) => [key.slice(source.length), isSame(entry)] as const,
    )
    if (typeof there?.content === 'string' && typeof moved.content === 'string') {
      this.#keepVersion(path, there)
      // A file that replaces a file takes its id, and brings its versions along.
      if (isMoved)
        this.kept = this.kept.map((each) => (each.of === moved.key ? { ...each, of: there.key } : each))
      this.tree.set(path, { content: moved.content, key: there.key })
    } else {
      if (there !== undefined) this.#keepItem(path)
      this.#put(path, new Map(entries))
    }
    if (isMoved) this.#take(source)
    return true
  }

  #restoreVersion(path: string, version: Kept | undefined): boolean {
    const [there, former] = [this.tree.get(path), version?.entries.get('')]
    if (version === undefined || former === undefined || there === undefined) return false
    this.#forget([version])
    this.#keepVersion(path, there)
    this.tree.set(path, { content: former.content, key: there.key })
    return true
  }

  #keepItem(path: string): void {
    const entries = this.#take(path)
    this.kept.push({ of: null, path, entries, age: 'new', isHandover: false })
  }

  #keepVersion(path: string, { content, key }: Entry): void {
    const entries = new Map([['', { content, key: newKey() }]])
    this.kept.push({ of: key, path, entries, age: 'new', isHandover: false })
  }

  #forget(gone: readonly Kept[]): boolean {
    this.kept = this.kept.filter((each) => !gone.includes(each))
    return gone.length > 0
  }

  /** Puts entries at a path where nothing is. Returns false if a file is above it, or something is there. */
  #put(path: string, entries: Entries): boolean {
    if (this.#isBlocked(path) || this.tree.has(path)) return false
    for (const parent of parentsOf(path)) this.tree.set(parent, folder)
    for (const [below, entry] of entries) this.tree.set(path + below, entry)
    return true
  }

  #take(path: string): Entries {
    const taken = this.#within(path)
    for (const [key] of taken) this.tree.delete(key)
    return new Map(taken.map(([key, entry]) => [key.slice(path.length), entry]))
  }

  #within(path: string): (readonly [string, Entry])[] {
    return [...this.tree].filter(([key]) => isWithin(key, path))
  }

  #isBlocked(path: string): boolean {
    return parentsOf(path).some((parent) => typeof this.tree.get(parent)?.content === 'string')
  }

  #versionsOf(key: number | undefined): Kept[] {
    return this.kept.filter(({ of }) => of !== null && of === key).reverse()
  }

  #all(): Entry[] {
    return [...this.tree.values(), ...this.kept.flatMap(({ entries }) => [...entries.values()])]
  }
}

const folder: Entry = { content: null, key: 0 }

/** The bytes of a file. */
export function sizeOf(content: string | null): number {
  return content === null ? 0 : Number(content.split(':', 1))
}

/** Returns the values of one list that another one does not have, each as often as it has more of it. */
export function surplus(one: readonly string[], other: readonly string[]): string[] {
  const left = [...other]
  return one.filter((value) => {
    const place = left.indexOf(value)
    if (place !== -1) left.splice(place, 1)
    return place === -1
  })
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

import type { Folder, FolderChanges, FolderEntry } from '../../protocol/messages.ts'
import type { Budget } from './budget.ts'
import { type MemoryFile, now } from './memory-file.ts'
import { MemoryFolder, type MemoryNode } from './memory-folder.ts'

/** An entry as it was before the program began. */
interface EntryBefore extends FolderEntry {
  /** Null for a folder. */
  readonly content: Buffer | null
}

/** A folder as a program sees it. */
export class Mount {
  readonly guestPath: string
  readonly writable: boolean
  readonly root: MemoryFolder
  readonly #before: EntryBefore[] = []

  /** @param contentOf the bytes of the next file */
  constructor({ guestPath, writable, entries }: Folder, budget: Budget, contentOf: (size: number) => Buffer) {
    this.guestPath = guestPath
    this.writable = writable
    this.root = new MemoryFolder(budget, now())
    const nodes: MemoryNode[] = []
    for (const entry of entries) {
      const folder = entry.parent === null ? this.root : nodes[entry.parent]
      if (folder?.kind !== 'directory') throw new RangeError('An entry comes before its folder.')
      const content = entry.size === null ? null : contentOf(entry.size)
      const modified = nanoseconds(entry.modified)
      nodes.push(
        content === null ? folder.addFolder(entry.name) : folder.addFile(entry.name, content, modified),
      )
      this.#before.push({ ...entry, content })
    }
    // Each entry that was added changed the time of its folder.
    for (const [number, node] of nodes.entries()) {
      node.modified = nanoseconds(this.#before[number]?.modified ?? 0)
    }
  }

  /** The program's changes, and the contents of the stored files in their order. */
  changes(): [changes: FolderChanges, contents: Buffer[]] {
    const { removed, numbers, unchanged } = this.#compare()
    const stored: FolderEntry[] = []
    const contents: Buffer[] = []
    const folders = [this.root]
    for (const folder of folders) {
      const parent = numbers.get(folder) ?? null
      for (const [name, node] of folder.entries) {
        if (node.kind === 'directory') {
          folders.push(node)
          if (numbers.has(node)) continue
          numbers.set(node, this.#before.length + stored.length)
          stored.push({ parent, name, size: null, modified: milliseconds(node.modified) })
        } else if (!unchanged.has(node)) {
          stored.push({ parent, name, size: node.size, modified: milliseconds(node.modified) })
          contents.push(node.content())
        }
      }
    }
    return [{ removed, stored }, contents]
  }

  /** Finds the entries that are still at their paths: the numbers of folders, and the files with their old content. */
  #compare(): {
    readonly removed: number[]
    readonly numbers: Map<MemoryNode, number>
    readonly unchanged: Set<MemoryNode>
  } {
    const removed: number[] = []
    const numbers = new Map<MemoryNode, number>()
    const unchanged = new Set<MemoryNode>()
    /** The folders that stay, by number. */
    const folders: (MemoryFolder | undefined)[] = []
    for (const [number, { parent, name, content, modified }] of this.#before.entries()) {
      const node = (parent === null ? this.root : folders[parent])?.entries.get(name)
      folders[number] = content === null && node?.kind === 'directory' ? node : undefined
      if (node === undefined || (node.kind === 'directory') !== (content === null)) removed.push(number)
      else if (node.kind === 'directory') numbers.set(node, number)
      else if (content?.equals(node.content()) && !isTouched(node, modified)) unchanged.add(node)
    }
    return { removed, numbers, unchanged }
  }
}

/** Whether the program set another time. Writing the same bytes again is no change. */
function isTouched({ hasSetTimes, modified }: MemoryFile, before: number): boolean {
  return hasSetTimes && milliseconds(modified) !== before
}

function nanoseconds(milliseconds: number): bigint {
  return BigInt(milliseconds) * 1_000_000n
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n)
}

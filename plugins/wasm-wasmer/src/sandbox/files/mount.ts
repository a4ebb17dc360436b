import type { Folder, FolderChanges } from '../../protocol/messages.ts'
import type { Budget } from './budget.ts'
import { MemoryFolder, type MemoryNode } from './memory-folder.ts'

/** A folder as a program sees it. */
export class Mount {
  readonly guestPath: string
  readonly writable: boolean
  readonly root: MemoryFolder
  /** Initial contents of files, and null for folders, by path. */
  readonly #before = new Map<string, Buffer | null>()

  /** @param contentOf the bytes of the next file */
  constructor({ guestPath, writable, entries }: Folder, budget: Budget, contentOf: (size: number) => Buffer) {
    this.guestPath = guestPath
    this.writable = writable
    this.root = new MemoryFolder(budget)
    for (const { path, size } of entries) {
      const content = size === null ? null : contentOf(size)
      this.#before.set(path, content)
      if (content === null) this.root.addFolder(path)
      else this.root.addFile(path, content)
    }
  }

  /** The program's changes, and the contents of the stored files in their order. */
  changes(): [changes: FolderChanges, contents: Buffer[]] {
    const after = new Map(this.root.walk())
    const removed: string[] = []
    for (const [path, content] of this.#before) {
      const node = after.get(path)
      const stays = node !== undefined && (node.kind === 'directory') === (content === null)
      if (!stays) removed.push(path)
    }
    const stored = [...after].filter(([path, node]) => !this.#isAsBefore(path, node))
    return [
      {
        removed,
        stored: stored.map(([path, { kind, size }]) => ({ path, size: kind === 'file' ? size : null })),
      },
      stored.flatMap(([, node]) => (node.kind === 'file' ? [node.content()] : [])),
    ]
  }

  #isAsBefore(path: string, node: MemoryNode): boolean {
    const content = this.#before.get(path)
    if (content === undefined) return false
    return node.kind === 'directory' ? content === null : content !== null && node.content().equals(content)
  }
}

import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { conflict, NodekeepError, nameOf, parentOf } from '@nodekeep/plugin-sdk/thread-parts'
import type { EntryChange } from './entry-change.ts'
import { namesOf, rootId, storedName } from './entry-names.ts'

interface Row {
  readonly id: number
  /** Null for a folder. */
  readonly root: Uint8Array | null
}

/** Counts the references to blocks. */
interface BlockReferences {
  /** @throws Error if there is no such block */
  retain(cid: Uint8Array): void
  release(cid: Uint8Array): void
}

type FileChange = Extract<EntryChange, { kind: 'file' }>
type MoveChange = Extract<EntryChange, { kind: 'move' }>

/** The changes of the tree, in the thread that writes. Each method is a part of a transaction of the caller. */
export class EntryChanges {
  readonly #blocks: BlockReferences
  readonly #statements

  constructor(connection: DatabaseSync, blocks: BlockReferences) {
    this.#blocks = blocks
    const prepare = (sql: string) => connection.prepare(sql)
    this.#statements = {
      // `parent <> 0` lets SQLite use the index of the entries that exist.
      find: prepare('SELECT id, root FROM entry WHERE parent = ? AND name = ? AND parent <> 0'),
      insert: prepare(
        'INSERT INTO entry (parent, name, root, size, modified, created, revision) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ),
      replace: prepare(
        'UPDATE entry SET root = ?, size = ?, modified = ?, created = ?, revision = ? WHERE id = ?',
      ),
      move: prepare('UPDATE entry SET parent = ?, name = ? WHERE id = ?'),
      cutOff: prepare('UPDATE entry SET parent = 0 WHERE id = ?'),
      delete: prepare('DELETE FROM entry WHERE id = ?'),
      removed: prepare('SELECT id FROM entry WHERE parent = 0 LIMIT 1'),
      children: prepare('SELECT id, root FROM entry WHERE parent = ? AND parent <> 0 LIMIT ?'),
    }
  }

  /** @throws NodekeepError if the change cannot be made; the caller takes back what it has done then */
  apply(change: EntryChange): void {
    if (change.kind === 'file') this.#putFile(change)
    else if (change.kind === 'folder') this.#folderAt(change.path)
    else if (change.kind === 'remove') this.#remove(this.#existing(change.path))
    else this.#move(change)
  }

  /**
   * Deletes some rows of entries that were removed with their folder, and releases the blocks that they name.
   *
   * @param most rows that it changes
   * @returns whether there may be more
   */
  sweep(most: number): boolean {
    for (let left = most; left > 0; ) {
      const folder = this.#statements.removed.get()
      if (folder === undefined) return false
      const children = this.#statements.children.all(folder.id as number, left) as unknown as Row[]
      for (const child of children) this.#remove(child)
      left -= children.length
      if (left > 0) this.#statements.delete.run(folder.id as number)
      left -= 1
    }
    return true
  }

  #putFile({ path, root, size, modified, created, revision }: FileChange): void {
    const parent = this.#folderAt(parentOf(path))
    const name = storedName(nameOf(path))
    const replaced = this.#find(parent, name)
    if (replaced?.root === null) throw conflict('A folder has this name. Choose another name for the file.')
    this.#blocks.retain(root)
    if (replaced === undefined) {
      this.#statements.insert.run(parent, name, root, size, modified, created, revision)
      return
    }
    this.#blocks.release(replaced.root)
    this.#statements.replace.run(root, size, modified, created, revision, replaced.id)
  }

  #move({ source, destination }: MoveChange): void {
    const { id } = this.#existing(source)
    const parent = this.#folderAt(parentOf(destination))
    const name = storedName(nameOf(destination))
    const replaced = this.#find(parent, name)
    if (replaced !== undefined) this.#remove(replaced)
    this.#statements.move.run(parent, name, id)
  }

  /** A folder may contain any number of entries, so their rows go in steps. */
  #remove({ id, root }: Row): void {
    if (root === null) {
      this.#statements.cutOff.run(id)
      return
    }
    this.#blocks.release(root)
    this.#statements.delete.run(id)
  }

  #existing(path: string): Row {
    let row: Row | undefined = { id: rootId, root: null }
    for (const name of namesOf(path)) row = row && this.#find(row.id, storedName(name))
    if (row === undefined) throw new NodekeepError('NOT_FOUND', `There is nothing at ${path}.`)
    return row
  }

  /** Returns the id of a folder. Makes it and its parents if they are missing. */
  #folderAt(path: string): number {
    let id = rootId
    for (const text of namesOf(path)) {
      const name = storedName(text)
      const row = this.#find(id, name)
      if (row !== undefined && row.root !== null)
        throw conflict('A file has this name, where a folder is needed.')
      id = row?.id ?? this.#makeFolder(id, name)
    }
    return id
  }

  #makeFolder(parent: number, name: Uint8Array): number {
    const now = Date.now()
    const { lastInsertRowid } = this.#statements.insert.run(parent, name, null, 0, now, now, randomUUID())
    return Number(lastInsertRowid)
  }

  #find(parent: number, name: Uint8Array): Row | undefined {
    return this.#statements.find.get(parent, name) as Row | undefined
  }
}

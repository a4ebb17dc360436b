import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NodekeepError, type StorageConditions, type StorageEntry } from '@nodekeep/plugin-sdk'
import { isWithin, nameOf, parentOf } from './path.ts'

/** A row of `node`. Times are milliseconds since 1970. */
export interface TreeNode {
  readonly id: number
  readonly name: string
  /** `null` for a folder. */
  readonly content: number | null
  readonly size: number
  readonly modified: number
  readonly created: number
}

/** Content that is stored and has no place in the tree yet. */
export interface Staged {
  readonly content: number
  readonly size: number
}

/** Files and folders by their paths. Changes are for those who have a transaction open. */
export class Tree {
  readonly #child: StatementSync
  readonly #children: StatementSync
  readonly #below: StatementSync
  readonly #insert: StatementSync
  readonly #relink: StatementSync
  readonly #delete: StatementSync

  constructor(connection: DatabaseSync) {
    this.#child = connection.prepare('SELECT * FROM node WHERE parent IS ? AND name = ?')
    this.#children = connection.prepare('SELECT * FROM node WHERE parent = ?')
    // In the order of their depth: each node comes before those in it.
    this.#below = connection.prepare(`
      WITH RECURSIVE below (id, content) AS (
        SELECT id, content FROM node WHERE id = ?
        UNION ALL SELECT node.id, node.content FROM node JOIN below ON node.parent = below.id
      ) SELECT id, content FROM below`)
    this.#insert = connection.prepare(
      'INSERT INTO node (parent, name, content, size, modified, created) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#relink = connection.prepare('UPDATE node SET parent = ?, name = ? WHERE id = ?')
    this.#delete = connection.prepare('DELETE FROM node WHERE id = ?')
  }

  find(path: string): TreeNode | undefined {
    let node = this.#child.get(null, '/') as unknown as TreeNode | undefined
    for (const name of path.split('/').filter((segment) => segment !== '')) {
      node = node && (this.#child.get(node.id, name) as unknown as TreeNode | undefined)
    }
    return node
  }

  get(path: string): TreeNode {
    const node = this.find(path)
    if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is nothing at ${path}.`)
    return node
  }

  /** SQLite compares text as UTF-8, which is another order than the one that is asked for. */
  list(path: string): TreeNode[] {
    const folder = this.get(path)
    if (folder.content !== null)
      throw new NodekeepError('CONFLICT', `${path} is a file, which has no entries.`)
    const nodes = this.#children.all(folder.id) as unknown as TreeNode[]
    return nodes.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Throws when a write cannot happen as things are now. */
  checkWrite(path: string, { ifAbsent, ifRevision }: StorageConditions): void {
    const node = this.find(path)
    if ((ifAbsent && node) || (ifRevision !== undefined && String(node?.content) !== ifRevision)) {
      throw new NodekeepError('PRECONDITION_FAILED', `What is at ${path} is not what was expected.`)
    }
    if (node?.content === null) throw new NodekeepError('CONFLICT', `${path} is a folder.`)
    let parent = parentOf(path)
    while (this.find(parent) === undefined) parent = parentOf(parent)
    if (this.get(parent).content !== null)
      throw new NodekeepError('CONFLICT', `${parent} is a file, no folder.`)
  }

  /** Throws for a folder that has something in it, and for a file. */
  checkEmpty({ id, name, content }: TreeNode): void {
    if (content === null && this.#children.get(id) === undefined) return
    throw new NodekeepError('CONFLICT', `"${name}" is no folder without anything in it.`)
  }

  /** @returns the contents that are no longer in the tree */
  place(path: string, { content, size }: Staged): number[] {
    const replaced = this.find(path)
    const orphans = replaced ? this.remove(replaced) : []
    const now = Date.now()
    this.#insert.run(this.folder(parentOf(path)), nameOf(path), content, size, now, replaced?.created ?? now)
    return orphans
  }

  /** Makes a folder where it is missing. @returns its id */
  folder(path: string): number {
    const node = this.find(path)
    if (node === undefined) {
      const now = Date.now()
      const made = this.#insert.run(this.folder(parentOf(path)), nameOf(path), null, 0, now, now)
      return Number(made.lastInsertRowid)
    }
    if (node.content !== null) throw new NodekeepError('CONFLICT', `${path} is a file, no folder.`)
    return node.id
  }

  /** @returns the contents that are no longer in the tree */
  remove(node: TreeNode): number[] {
    const nodes = this.#below.all(node.id)
    // From the bottom up, since SQLite follows references for a thousand levels only.
    for (const { id } of nodes.toReversed()) this.#delete.run(Number(id))
    return nodes.flatMap(({ content }) => (content === null ? [] : [Number(content)]))
  }

  /** @returns the contents that are no longer in the tree */
  move(source: string, destination: string, overwrite: boolean): number[] {
    const node = this.get(source)
    if (isWithin(destination, source) || isWithin(source, destination)) {
      throw new NodekeepError('CONFLICT', `${source} cannot move to ${destination}: one is in the other.`)
    }
    const replaced = this.find(destination)
    if (replaced && !overwrite) throw new NodekeepError('CONFLICT', `Something is at ${destination} already.`)
    const orphans = replaced ? this.remove(replaced) : []
    this.#relink.run(this.folder(parentOf(destination)), nameOf(destination), node.id)
    return orphans
  }
}

export function entryOf({ name, content, size, modified, created }: TreeNode): StorageEntry {
  return {
    name,
    type: content === null ? 'directory' : 'file',
    size,
    modified: new Date(modified),
    created: new Date(created),
    revision: content === null ? 'folder' : String(content),
  }
}

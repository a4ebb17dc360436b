import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NodekeepError, type StorageConditions, type StorageEntry } from '@nodekeep/plugin-sdk'

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

/** A stored content that is not in the tree yet. */
export interface Staged {
  readonly content: number
  readonly size: number
}

/** Files and folders by their paths. Make changes within a transaction. */
export class Tree {
  readonly #child: StatementSync
  readonly #children: StatementSync
  readonly #below: StatementSync
  readonly #insertNode: StatementSync
  readonly #relink: StatementSync
  readonly #delete: StatementSync

  constructor(connection: DatabaseSync) {
    this.#child = connection.prepare('SELECT * FROM node WHERE parent IS ? AND name = ?')
    this.#children = connection.prepare('SELECT * FROM node WHERE parent = ?')
    // Ordered by depth: each node comes before its children.
    this.#below = connection.prepare(`
      WITH RECURSIVE below (id, content) AS (
        SELECT id, content FROM node WHERE id = ?
        UNION ALL SELECT node.id, node.content FROM node JOIN below ON node.parent = below.id
      ) SELECT id, content FROM below`)
    this.#insertNode = connection.prepare(
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
    if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is no file or folder at ${path}.`)
    return node
  }

  /** Sorts here: SQLite compares text as UTF-8, but the contract asks for UTF-16 code units. */
  list(path: string): TreeNode[] {
    const folder = this.get(path)
    if (folder.content !== null)
      throw new NodekeepError('CONFLICT', `${path} is a file. Only a folder has entries.`)
    const nodes = this.#children.all(folder.id) as unknown as TreeNode[]
    return nodes.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Throws if the tree does not allow the write now. */
  checkWrite(path: string, { ifAbsent, ifRevision }: StorageConditions): void {
    const node = this.find(path)
    if ((ifAbsent && node) || (ifRevision !== undefined && String(node?.content) !== ifRevision)) {
      throw new NodekeepError(
        'PRECONDITION_FAILED',
        `The file at ${path} was changed or removed, or exists already.`,
      )
    }
    if (node?.content === null) throw new NodekeepError('CONFLICT', `${path} is a folder.`)
    let parent = parentOf(path)
    while (this.find(parent) === undefined) parent = parentOf(parent)
    if (this.get(parent).content !== null)
      throw new NodekeepError('CONFLICT', `${parent} is a file, not a folder.`)
  }

  /** Throws unless the node is an empty folder. */
  checkEmpty({ id, name, content }: TreeNode): void {
    if (content === null && this.#children.get(id) === undefined) return
    throw new NodekeepError('CONFLICT', `"${name}" is not an empty folder. Remove its content first.`)
  }

  /** @returns the contents that are no longer in the tree */
  insert(path: string, { content, size }: Staged): number[] {
    const replaced = this.find(path)
    const orphans = replaced ? this.remove(replaced) : []
    const now = Date.now()
    this.#insertNode.run(
      this.folder(parentOf(path)),
      nameOf(path),
      content,
      size,
      now,
      replaced?.created ?? now,
    )
    return orphans
  }

  /** Makes a folder and its parents if they are missing. @returns its id */
  folder(path: string): number {
    const node = this.find(path)
    if (node === undefined) {
      const now = Date.now()
      const made = this.#insertNode.run(this.folder(parentOf(path)), nameOf(path), null, 0, now, now)
      return Number(made.lastInsertRowid)
    }
    if (node.content !== null) throw new NodekeepError('CONFLICT', `${path} is a file, not a folder.`)
    return node.id
  }

  /** @returns the contents that are no longer in the tree */
  remove(node: TreeNode): number[] {
    const nodes = this.#below.all(node.id)
    // From the bottom up: SQLite follows references for a thousand levels only.
    for (const { id } of nodes.toReversed()) this.#delete.run(Number(id))
    return nodes.flatMap(({ content }) => (content === null ? [] : [Number(content)]))
  }

  /** @returns the contents that are no longer in the tree */
  move(source: string, destination: string, overwrite: boolean): number[] {
    const node = this.get(source)
    if (isWithin(destination, source) || isWithin(source, destination)) {
      throw new NodekeepError(
        'CONFLICT',
        `${source} cannot be moved to ${destination}: one contains the other.`,
      )
    }
    const replaced = this.find(destination)
    if (replaced && !overwrite)
      throw new NodekeepError('CONFLICT', `A file or folder exists at ${destination}.`)
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

// The node passes clean paths: absolute, without `.` and `..`. Nothing has to be checked or resolved here.

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the path of the parent folder. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

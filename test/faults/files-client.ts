import assert from 'node:assert/strict'
import type { FilesProcess } from './files-process.ts'
import { type Change, changed, parentsOf, type Tree } from './files-tree.ts'
import type { Random } from './random.ts'

/** Returns the bytes of a file: its content, repeated up to the length that the content names. */
export function bytesOf(content: string): Buffer<ArrayBuffer> {
  return Buffer.alloc(Number(content.split(':', 1)), content)
}

/** A client that makes one change after another in its own folder until the node is killed, or cannot tell what came of a change. */
export class FilesClient {
  readonly #folder: string
  readonly #random: Random
  readonly #largest: number
  #tree: Tree = new Map()
  /** The requested change without an answer, and the tree after it. */
  #asked: { readonly change: Change; readonly tree: Tree } | null = null
  #count = 0

  /** @param largest the size of the largest files, in bytes */
  constructor(folder: string, random: Random, largest = 3_000_000) {
    this.#folder = folder
    this.#random = random
    this.#largest = largest
  }

  /** The tree after all answered changes. */
  get tree(): Tree {
    return this.#tree
  }

  /** The requested change without an answer, and the tree after it. */
  get unanswered(): { readonly change: Change; readonly tree: Tree } | null {
    return this.#asked
  }

  /**
   * The trees that its folder may hold: all answered changes, with or without the unanswered one. New parent folders of
   * the unanswered change may remain.
   */
  get allowed(): readonly Tree[] {
    if (this.#asked === null) return [this.#tree]
    const leftovers = this.leftoverParents
    const withLeftovers = leftovers.map((_, index) => {
      return new Map([...this.#tree, ...leftovers.slice(0, index + 1).map((path) => [path, null] as const)])
    })
    return [this.#tree, this.#asked.tree, ...withLeftovers]
  }

  /** New parent folders of the unanswered change, outer ones first. The journal may omit them. */
  get leftoverParents(): readonly string[] {
    return this.#asked === null
      ? []
      : parentsOf(this.#asked.change.path).filter((path) => !this.#tree.has(path))
  }

  /** Number of answered changes. */
  get answered(): number {
    return this.#count
  }

  /** @param until no further change begins after it */
  async run(node: FilesProcess, until?: AbortSignal): Promise<void> {
    while (!until?.aborted) {
      const change = this.#draw()
      const next = changed(this.#tree, change)
      if (next === null) continue
      this.#asked = { change, tree: next }
      try {
        const answer = await ask(node, change)
        const text = await answer.text()
        // The storage did not answer the node.
        if (until !== undefined && answer.status === 503) return
        assert.equal(answer.status, 200, `${JSON.stringify(change)}: ${text}`)
      } catch (error) {
        // The node was killed before it answered.
        if (error instanceof TypeError) return
        throw error
      }
      this.#tree = next
      this.#asked = null
      this.#count += 1
    }
  }

  #draw(): Change {
    const random = this.#random
    const op = random.pick<Change['op']>([
      'write',
      'write',
      'write',
      'write',
      'mkdir',
      'move',
      'move',
      'delete',
    ])
    const path = this.#path()
    if (op === 'move') return { op, path, source: this.#path() }
    if (op !== 'write') return { op, path }
    const size = random.chance(0.1) ? random.integer(100_000, this.#largest) : random.integer(0, 20_000)
    return { op, path, content: `${size}:${path}:${this.#count};`, asForm: random.chance(0.5) }
  }

  #path(): string {
    const depth = this.#random.integer(1, 3)
    const names = Array.from({ length: depth }, () => this.#random.pick(['a', 'b', 'c']))
    return `${this.#folder}/${names.join('/')}`
  }
}

async function ask(node: FilesProcess, change: Change): Promise<Response> {
  const send = (target: string, init: RequestInit) => {
    const headers = { ...init.headers, authorization: `Bearer ${node.session.token}` }
    return fetch(new URL(target, node.url), { ...init, headers })
  }
  const { op, path } = change
  if (op === 'write') {
    const bytes = bytesOf(change.content)
    if (!change.asForm) return send(`/write?path=${path}`, { method: 'PUT', body: bytes })
    const body = new FormData()
    body.append('path', path)
    body.append('file', new Blob([bytes]), 'file')
    return send('/write', { method: 'POST', body })
  }
  const body = op === 'move' ? { source: change.source, destination: path, overwrite: true } : { path }
  return send(`/${op}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
}

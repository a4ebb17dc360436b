import assert from 'node:assert/strict'
import type { FilesProcess } from './files-process.ts'
import { type Change, changed, parentsOf, type Tree } from './files-tree.ts'
import type { Random } from './random.ts'

/** Returns the bytes of a file: its content, repeated up to the length that the content names. */
export function bytesOf(content: string): Buffer<ArrayBuffer> {
  return Buffer.alloc(Number(content.split(':', 1)), content)
}

/** A client that makes one change after another in its own folder until the node is killed. */
export class FilesClient {
  readonly #folder: string
  readonly #random: Random
  #tree: Tree = new Map()
  /** The requested change without an answer, and the tree after it. */
  #asked: { readonly path: string; readonly tree: Tree } | null = null
  #count = 0

  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
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
    return this.#asked === null ? [] : parentsOf(this.#asked.path).filter((path) => !this.#tree.has(path))
  }

  /** Number of answered changes. */
  get answered(): number {
    return this.#count
  }

  async run(node: FilesProcess): Promise<void> {
    for (;;) {
      const change = this.#draw()
      const next = changed(this.#tree, change)
      if (next === null) continue
      this.#asked = { path: change.path, tree: next }
      try {
        const answer = await ask(node, change)
        const text = await answer.text()
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
    const size = random.chance(0.1) ? random.integer(100_000, 3_000_000) : random.integer(0, 20_000)
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

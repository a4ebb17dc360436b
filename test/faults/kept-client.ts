import assert from 'node:assert/strict'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { FilesProcess } from './files-process.ts'
import type { Random } from './random.ts'

type Trash = NodeAnswers['GET /api/files/trash']
type Versions = NodeAnswers['GET /api/files/versions']

/** A file that a client has written. Its bytes are `content`, repeated up to the length that the content begins with. */
export function bytesOfContent(content: string): Buffer<ArrayBuffer> {
  return Buffer.alloc(Number(content.split(':', 1)), content)
}

/** The outcome of a request. */
type Outcome =
  | { readonly is: 'done'; readonly answer: unknown; readonly undo: string | null }
  | { readonly is: 'refused' }
  /** The node was killed before it answered. */
  | { readonly is: 'unknown' }

/**
 * A client that writes, overwrites, moves, deletes, restores and takes back changes in its own folder, one or several at once, until the
 * node is killed. None of that loses a content: each one is a file, a version or in the trash, exactly once.
 */
export class KeptClient {
  readonly #folder: string
  readonly #random: Random
  /** Contents of all answered writes. */
  readonly written = new Set<string>()
  /** The content of a write without an answer, which may be stored or not. */
  asked: string | null = null
  /** The groups of changes that were answered. */
  readonly #groups: string[] = []
  /** The group of the next change. */
  #group = ''
  #answered = 0

  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
  }

  /** The number of changes that the node made. */
  get answered(): number {
    return this.#answered
  }

  async run(node: FilesProcess): Promise<void> {
    for (;;) {
      const outcome = await this.#change(node)
      if (outcome.is === 'unknown') return
      if (outcome.is === 'refused') continue
      this.#answered += 1
      if (outcome.undo !== null) this.#groups.push(outcome.undo)
    }
  }

  #change(node: FilesProcess): Promise<Outcome> {
    const random = this.#random
    if (this.#group === '' || random.chance(0.6))
      this.#group = `${this.#folder.slice(1)}-${random.integer(0, 2 ** 32)}`
    const change = random.pick([
      'write',
      'write',
      'write',
      'delete',
      'delete',
      'move',
      'move',
      'restore',
      'version',
      'undo',
    ])
    if (change === 'write') return this.#write(node)
    if (change === 'delete') return this.#post(node, '/delete', { path: this.#path() })
    if (change === 'move') {
      return this.#post(node, '/move', { source: this.#path(), destination: this.#path(), overwrite: true })
    }
    if (change === 'restore') return this.#restore(node)
    if (change === 'version') return this.#restoreVersion(node)
    return this.#undo(node)
  }

  async #write(node: FilesProcess): Promise<Outcome> {
    const path = this.#path()
    const size = this.#random.chance(0.1)
      ? this.#random.integer(100_000, 1_000_000)
      : this.#random.integer(40, 20_000)
    const content = `${size}:${path}:${this.written.size};`
    this.asked = content
    const outcome = await send(node, `/write?path=${path}`, {
      method: 'PUT',
      body: bytesOfContent(content),
      headers: { 'x-nodekeep-group': this.#group },
    })
    if (outcome.is === 'unknown') return outcome
    this.asked = null
    if (outcome.is === 'done') this.written.add(content)
    return outcome
  }

  async #restore(node: FilesProcess): Promise<Outcome> {
    const listed = await send(node, '/api/files/trash?limit=20')
    if (listed.is !== 'done') return listed
    const own = (listed.answer as Trash).items.filter(({ path }) => path.startsWith(`${this.#folder}/`))
    const item = own[this.#random.integer(0, 19)]
    if (item === undefined) return { is: 'refused' }
    const destination = this.#random.chance(0.5) ? { destination: this.#path() } : {}
    return this.#post(node, '/api/files/trash/restore', { id: item.id, ...destination })
  }

  async #restoreVersion(node: FilesProcess): Promise<Outcome> {
    const path = this.#path()
    const listed = await send(node, `/api/files/versions?path=${path}`)
    if (listed.is !== 'done') return listed
    const { versions: items } = listed.answer as Versions
    const version = items[this.#random.integer(0, 3)]
    return version === undefined
      ? { is: 'refused' }
      : this.#post(node, '/api/files/versions/restore', { path, id: version.id })
  }

  async #undo(node: FilesProcess): Promise<Outcome> {
    const group = this.#groups.at(-1 - this.#random.integer(0, 2))
    return group === undefined ? { is: 'refused' } : this.#post(node, '/api/files/undo', { group })
  }

  #post(node: FilesProcess, target: string, body: object): Promise<Outcome> {
    const headers = { 'content-type': 'application/json', 'x-nodekeep-group': this.#group }
    return send(node, target, { method: 'POST', body: JSON.stringify(body), headers })
  }

  #path(): string {
    const depth = this.#random.integer(1, 3)
    const names = Array.from({ length: depth }, () => this.#random.pick(['a', 'b', 'c']))
    return `${this.#folder}/${names.join('/')}`
  }
}

async function send(node: FilesProcess, target: string, init: RequestInit = {}): Promise<Outcome> {
  const headers = { ...init.headers, authorization: `Bearer ${node.session.token}` }
  let answer: Response
  let text: string
  try {
    answer = await fetch(new URL(target, node.url), { ...init, headers })
    text = await answer.text()
  } catch (error) {
    if (error instanceof TypeError) return { is: 'unknown' }
    throw error
  }
  if (answer.ok) return { is: 'done', answer: JSON.parse(text), undo: answer.headers.get('x-nodekeep-undo') }
  // A random change may be impossible, or have no room.
  assert.ok([400, 404, 409, 412, 507].includes(answer.status), `${target}: ${answer.status} ${text}`)
  return { is: 'refused' }
}

import { createHash } from 'node:crypto'
import type { Answer, RemoteEntry, RemoteFileEntry } from '../../../src/client/ports.ts'
import { SyncFailure } from '../../../src/client/sync-failure.ts'
import { folderOf, foldersAbove, isWithin, nameOf } from '../../../src/client/sync-paths.ts'
import type { ServerMessage, WireChange } from '../../../src/protocol/messages.ts'

type Node = { readonly type: 'directory' } | (RemoteFileEntry & { readonly content: string })
type Op = WireChange['op']

interface Row extends WireChange {
  readonly seq: number
  readonly id: string
}

/** A row that the node adds once it has noticed what another program did. */
interface ExpectedRow {
  readonly op: Op
  readonly path: string
}

/** The state of a node at one moment, as the snapshot of a disk has it. */
interface Snapshot {
  readonly nodes: ReadonlyMap<string, Node>
  readonly journal: readonly Row[]
  readonly epoch: number
  readonly head: number
  readonly oldest: number
  readonly oldestId: string
  /** The listings that devices have stored. */
  readonly listings: ReadonlySet<string>
  readonly expected: readonly ExpectedRow[]
}

/** A connection to the feed. */
interface Session {
  cursor: number
  /** The cursor that the client must acknowledge before more is sent. */
  sent: number | null
  send(message: ServerMessage): void
}

/** The most changes in a message. A small number shows faults of paging. */
const page = 5

/**
 * The files of one user on a node, and the feed of their changes, in memory. Lists of calls hold it to a real node, see
 * `model-node.test.ts`. A failure has the kind that the client makes of the answer of a real node.
 */
export class ModelNode {
  nodes = new Map<string, Node>()
  /** A mount that holds the journal back, as new connections are told. */
  stalled: string | null = null
  /** Bytes of the largest file that the node takes. */
  largestFile = Number.POSITIVE_INFINITY
  /** Contents that a path had once and then no more, as `heldKey` writes them. */
  readonly #dropped = new Set<string>()
  readonly #sessions = new Set<Session>()
  #journal: Row[] = []
  #epoch = 1
  /** No epoch comes twice, also after the node was put back. */
  #epochs = 1
  #head = 0
  #oldest = 0
  #oldestId = ''
  #revision = 0
  #ids = 0
  readonly #expected = new Set<ExpectedRow>()
  #listings = new Set<string>()
  /** The listings that the node has asked for since its start. */
  readonly #asked = new Set<string>()

  /** The changes since the node began, or was restored. */
  get changes(): readonly WireChange[] {
    return this.#journal
  }

  stat(path: string): RemoteEntry | null {
    const node = this.nodes.get(path)
    return node === undefined ? null : entryOf(node)
  }

  list(folder: string): Map<string, RemoteEntry> | null {
    if (folder !== '/' && this.nodes.get(folder)?.type !== 'directory') return null
    const children = [...this.nodes].filter(([path]) => folderOf(path) === folder)
    return new Map(children.map(([path, node]) => [nameOf(path), entryOf(node)]))
  }

  /** The revision of the file at a path, `null` if there is none. */
  revisionOf(path: string): string | null {
    const node = this.nodes.get(path)
    return node?.type === 'file' ? node.revision : null
  }

  hash(path: string, revision: string): string | null {
    const node = this.nodes.get(path)
    if (node?.type !== 'file' || node.revision !== revision) return null
    return createHash('sha256').update(node.content).digest('hex')
  }

  read(path: string, revision: string): string {
    const node = this.nodes.get(path)
    if (node?.type !== 'file' || node.revision !== revision) throw changed('412')
    return node.content
  }

  write(path: string, content: string, modified: number, revision: string | null): RemoteFileEntry {
    const node = this.nodes.get(path)
    if (node?.type === 'directory' || this.#isBlocked(path)) throw changed('409')
    if ((node?.revision ?? null) !== revision) throw changed('412')
    const entry = this.put(path, content, modified)
    this.record('write', path)
    return entry
  }

  makeFolder(path: string): void {
    if (this.nodes.get(path)?.type === 'directory') return
    if (this.nodes.has(path) || this.#isBlocked(path)) throw changed('409')
    this.#makeFolders(path)
    this.nodes.set(path, { type: 'directory' })
    this.record('mkdir', path)
  }

  remove(path: string, revision: string | null): void {
    const node = this.nodes.get(path)
    if (node === undefined) return
    if (node.type === 'file' ? node.revision !== revision : revision !== null) throw changed('412')
    if (this.#within(path).length > 1) throw changed('409')
    this.#delete(path)
    this.record('delete', path)
  }

  move(source: string, destination: string, revision: string): string {
    const node = this.nodes.get(source)
    if (node?.type !== 'file') throw changed('404')
    if (node.revision !== revision || this.nodes.has(destination)) throw changed('412')
    if (this.#isBlocked(destination) || isWithin(destination, source)) throw changed('409')
    this.#delete(source)
    this.#makeFolders(destination)
    this.nodes.set(destination, node)
    this.record('move', destination, source)
    return revision
  }

  /** Opens a connection to the feed. */
  follow(
    hello: {
      readonly device?: string | undefined
      readonly epoch?: string | undefined
      readonly cursor?: number | undefined
      readonly changeId?: string | undefined
      readonly listing?: string | undefined
    },
    send: (message: ServerMessage) => void,
  ): { answer(message: Answer): void; ping(): void; close(): void } {
    const session: Session = { cursor: hello.cursor ?? 0, sent: null, send }
    const epoch = `epoch ${this.#epoch}`
    const isKnown = hello.epoch === epoch && hello.cursor !== undefined
    const isListed = [undefined, ...this.#listings, ...this.#asked].includes(hello.listing)
    const reset = !isKnown || !isListed || this.#idOf(session.cursor) !== (hello.changeId ?? '')
    send({ type: 'welcome', protocol: 1, device: hello.device ?? 'device', epoch, head: this.#head, reset })
    if (reset) {
      session.cursor = this.#head
      const reason = hello.cursor === undefined ? 'new' : isKnown ? 'expired' : 'epoch'
      send(this.#resetFor(reason))
    }
    if (this.stalled !== null)
      send({ type: 'waiting', mount: this.stalled, since: new Date(0).toISOString() })
    this.#sessions.add(session)
    this.#send(session)
    return {
      answer: (message) => {
        if (!this.#sessions.has(session)) return
        if (message.type === 'listed' && this.#asked.delete(message.listing))
          this.#listings.add(message.listing)
        if (message.type !== 'ack' || session.sent !== message.cursor) return
        session.cursor = message.cursor
        session.sent = null
        this.#send(session)
      },
      ping: () => {
        if (this.#sessions.has(session)) send({ type: 'pong' })
      },
      close: () => this.#sessions.delete(session),
    }
  }

  /** Whether a path has had a content ever since it first had it. Nobody has removed or replaced it on the node then. */
  hasKept(path: string, content: string): boolean {
    const node = this.nodes.get(path)
    return node?.type === 'file' && node.content === content && !this.#dropped.has(heldKey(path, content))
  }

  /** Puts a file in place as another program does it, without a row in the journal. */
  put(path: string, content: string, modified: number): RemoteFileEntry {
    this.#makeFolders(path)
    this.#delete(path)
    this.#revision += 1
    const entry = { type: 'file', size: content.length, modified, revision: `r${this.#revision}` } as const
    this.nodes.set(path, { ...entry, content })
    return entry
  }

  /** Moves something as another program does it. */
  rename(source: string, destination: string): void {
    const moved = this.#within(source).map((path) => [path, this.nodes.get(path) as Node] as const)
    for (const [path] of moved) this.#delete(path)
    for (const [path, node] of moved) this.nodes.set(destination + path.slice(source.length), node)
  }

  /** Removes something with its content, as another program does it. */
  drop(path: string): void {
    for (const each of this.#within(path)) this.#delete(each)
  }

  /** Adds a row to the journal. */
  record(op: Op, path: string, source?: string): void {
    this.#head += 1
    this.#ids += 1
    const node = this.nodes.get(path)
    this.#journal.push({
      seq: this.#head,
      id: `id${this.#ids}`,
      op,
      path,
      ...(source !== undefined && { source }),
      ...(node?.type === 'file' && toldOf(node)),
      at: new Date(0).toISOString(),
    })
    for (const session of this.#sessions) this.#send(session)
  }

  /** Forgets the older half of the journal. */
  expire(): void {
    const last = this.#journal.splice(0, Math.ceil(this.#journal.length / 2)).at(-1)
    if (last === undefined) return
    this.#oldest = last.seq
    this.#oldestId = last.id
  }

  /**
   * Notes what another program did, whose row comes later.
   *
   * @returns adds the row
   */
  expect(op: Op, path: string): () => void {
    const row = { op, path }
    this.#expected.add(row)
    return () => {
      if (this.#expected.delete(row)) this.record(op, path)
    }
  }

  snapshot(): Snapshot {
    return {
      nodes: new Map(this.nodes),
      journal: [...this.#journal],
      epoch: this.#epoch,
      head: this.#head,
      oldest: this.#oldest,
      oldestId: this.#oldestId,
      listings: new Set(this.#listings),
      expected: [...this.#expected],
    }
  }

  /**
   * Goes back to a snapshot, with its journal. Files that were copied back have other inodes, and so other revisions: the node notes
   * each as changed by another program.
   *
   * @returns functions that add the rows of what the node notices after its start
   */
  putBack(snapshot: Snapshot, isCopied: boolean): (() => void)[] {
    for (const path of [...this.nodes.keys()]) if (!this.#isIn(snapshot.nodes, path)) this.#delete(path)
    this.nodes = new Map(snapshot.nodes)
    this.#epoch = snapshot.epoch
    this.#journal = [...snapshot.journal]
    this.#head = snapshot.head
    this.#oldest = snapshot.oldest
    this.#oldestId = snapshot.oldestId
    this.#listings = new Set(snapshot.listings)
    this.#asked.clear()
    this.#sessions.clear()
    this.#expected.clear()
    const copied: ExpectedRow[] = []
    for (const [path, node] of isCopied ? snapshot.nodes : []) {
      if (node.type !== 'file') continue
      this.#revision += 1
      this.nodes.set(path, { ...node, revision: `r${this.#revision}` })
      copied.push({ op: 'write', path })
    }
    return [...snapshot.expected, ...copied].map(({ op, path }) => this.expect(op, path))
  }

  backup(): Map<string, Node> {
    return new Map(this.nodes)
  }

  /** Begins anew with the files of a backup. Restored files have other revisions. */
  restore(backup: ReadonlyMap<string, Node>): void {
    for (const path of [...this.nodes.keys()]) if (!this.#isIn(backup, path)) this.#delete(path)
    this.nodes = new Map()
    for (const [path, node] of backup) {
      if (node.type === 'file') this.put(path, node.content, node.modified)
      else this.nodes.set(path, node)
    }
    this.#epochs += 1
    this.#epoch = this.#epochs
    this.#journal = []
    this.#head = 0
    this.#oldest = 0
    this.#oldestId = ''
    this.#sessions.clear()
    this.#expected.clear()
  }

  /** The id of the change with a number, `null` if the journal has no such change. */
  #idOf(seq: number): string | null {
    if (seq === this.#oldest) return this.#oldestId
    return this.#journal.find((row) => row.seq === seq)?.id ?? null
  }

  #delete(path: string): void {
    const node = this.nodes.get(path)
    if (node?.type === 'file') this.#dropped.add(heldKey(path, node.content))
    this.nodes.delete(path)
  }

  #isIn(backup: ReadonlyMap<string, Node>, path: string): boolean {
    const [now, then] = [this.nodes.get(path), backup.get(path)]
    return now?.type === 'file' && then?.type === 'file' && now.content === then.content
  }

  #send(session: Session): void {
    if (session.sent !== null) return
    if (session.cursor < this.#oldest) {
      session.cursor = this.#head
      session.send(this.#resetFor('expired'))
      return
    }
    const changes = this.#journal.filter(({ seq }) => seq > session.cursor).slice(0, page)
    const last = changes.at(-1)
    if (last === undefined) return
    session.sent = last.seq
    session.send({
      type: 'changes',
      cursor: last.seq,
      changeId: last.id,
      changes: changes.map(({ seq: _seq, id: _id, ...change }) => change),
      head: this.#head,
    })
  }

  #resetFor(reason: string): ServerMessage {
    this.#ids += 1
    const [epoch, changeId, listing] = [
      `epoch ${this.#epoch}`,
      this.#idOf(this.#head) ?? '',
      `listing${this.#ids}`,
    ]
    this.#asked.add(listing)
    return { type: 'reset', reason, epoch, head: this.#head, changeId, listing }
  }

  #within(path: string): string[] {
    return [...this.nodes.keys()].filter((each) => isWithin(each, path))
  }

  #isBlocked(path: string): boolean {
    return foldersAbove(path).some((folder) => this.nodes.get(folder)?.type === 'file')
  }

  #makeFolders(path: string): void {
    for (const folder of foldersAbove(path)) this.nodes.set(folder, { type: 'directory' })
  }
}

/** The facts that a change tells of a file. The node knows the hashes of some files. */
function toldOf({ revision, size, modified, content }: Extract<Node, { readonly type: 'file' }>) {
  const isHashed = Number(revision.slice(1)) % 2 === 0
  return {
    revision,
    size,
    modified: new Date(modified).toISOString(),
    ...(isHashed && { hash: createHash('sha256').update(content).digest('hex') }),
  }
}

function entryOf(node: Node): RemoteEntry {
  if (node.type === 'directory') return node
  const { content: _, ...entry } = node
  return entry
}

function heldKey(path: string, content: string): string {
  return `${path}: ${content}`
}

function changed(status: string): SyncFailure {
  return new SyncFailure('changed', status)
}

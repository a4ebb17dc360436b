import type { LocalContent, Remote, RemoteEntry, RemoteFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { nameOf } from '../sync-paths.ts'
import { partsOf, uploadBlocks } from './block-transfer.ts'
import { FeedError, FeedPings, followChanges } from './change-feed.ts'
import { type NodeAccess, NodeFailure, NodeRequests, reach } from './node-requests.ts'

/** Files up to this size are sent whole, in bytes. Larger ones are sent in blocks. */
const mostWhole = 4 * 1024 * 1024

/** Times that a download goes on after an interruption without a single byte in between. */
const mostResumes = 3

const pageEntries = 5000

/** The last millisecond since 1970 that RFC 3339 can write. Disks have later ones. */
const latestTime = Date.parse('9999-12-31T23:59:59.999Z')

interface ListedEntry {
  readonly name: string
  readonly type: 'file' | 'directory'
  readonly size?: number
  readonly revision?: string
  readonly modified: string
}

interface ListPage {
  readonly entries: readonly ListedEntry[]
  readonly cursor: string | null
}

/** A node, over its HTTP API and its WebSocket. */
export class NodeRemote implements Remote {
  readonly #access: NodeAccess
  readonly #requests: NodeRequests
  readonly #pings = new FeedPings()

  constructor(access: NodeAccess) {
    this.#access = access
    this.#requests = new NodeRequests(access)
  }

  async follow(...[hello, onMessage, signal]: Parameters<Remote['follow']>): Promise<void> {
    const { deviceName } = this.#access
    const { device } = hello
    // A position of another device says nothing: it may be one of another user.
    const newDevice = { name: deviceName }
    try {
      await followChanges(
        this.#access,
        device === undefined ? newDevice : hello,
        onMessage,
        signal,
        this.#pings,
      )
    } catch (error) {
      const isUnknown = error instanceof FeedError && ['FORBIDDEN', 'NOT_FOUND'].includes(error.code)
      if (!isUnknown || device === undefined) return this.#explain(error)
      // The device was removed, or belongs to another token.
      await followChanges(this.#access, newDevice, onMessage, signal, this.#pings)
    }
  }

  confirm(): Promise<void> {
    return this.#pings.ping()
  }

  async stat(path: string): Promise<RemoteEntry | null> {
    const answer = await this.#requests.send('/stat', { query: { path } }).catch(nullIfGone)
    if (answer === null) return null
    const entry = (await reach(answer.url, () => answer.json())) as ListedEntry
    return entryOf({ ...entry, revision: revisionOf(answer) })
  }

  async list(folder: string): Promise<ReadonlyMap<string, RemoteEntry> | null> {
    const found = new Map<string, RemoteEntry>()
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: Record<string, string> = {
        path: folder,
        limit: String(pageEntries),
        ...(cursor !== '' && { cursor }),
      }
      const page: ListPage | null = await this.#requests
        .ask<ListPage>('/api/files/list', { query })
        .catch(nullIfGone)
      if (page === null) return null
      for (const entry of page.entries) found.set(entry.name, entryOf(entry))
      cursor = page.cursor
    }
    return found
  }

  async hash(path: string, revision: string): Promise<string | null> {
    const { hashes } = await this.#requests.ask<{ hashes: { sha256: string | null }[] }>('/api/sync/hashes', {
      method: 'POST',
      json: { files: [{ path, revision }] },
    })
    return hashes[0]?.sha256 ?? null
  }

  async *read(path: string, file: RemoteFileEntry, former: LocalContent | null): AsyncIterable<Uint8Array> {
    if (former === null || file.size <= mostWhole || former.size <= mostWhole) {
      yield* this.#readRange(path, file, 0, file.size)
      return
    }
    for (const { from, start, size } of await partsOf(this.#requests, path, file, former)) {
      if (from === 'disk') yield* former.read(start, start + size)
      else yield* this.#readRange(path, file, start, start + size)
    }
  }

  async write(path: string, content: LocalContent, revision: string | null): Promise<RemoteFileEntry> {
    const modified = Math.min(Math.max(0, Math.floor(content.modified)), latestTime)
    if (content.size > mostWhole) {
      const time = new Date(modified).toISOString()
      const file = await uploadBlocks(this.#requests, path, content, time, revision)
      return fileEntryOf({ ...file, name: path })
    }
    const bytes = Buffer.concat(await Array.fromAsync(content.read()))
    const answer = await this.#requests.send('/write', {
      method: 'PUT',
      query: { path },
      headers: { 'x-oc-mtime': (modified / 1000).toFixed(3), ...conditionOf(revision) },
      bytes,
    })
    return { type: 'file', size: bytes.length, modified, revision: revisionOf(answer) }
  }

  async makeFolder(path: string): Promise<void> {
    await this.#requests.send('/mkdir', { method: 'POST', json: { path } })
  }

  async remove(path: string, revision: string | null): Promise<void> {
    const condition = revision === null ? {} : conditionOf(revision)
    const json = revision === null ? { path, onlyIfEmpty: true } : { path }
    await this.#requests
      .send('/delete', { method: 'POST', json, headers: condition })
      .catch((error: unknown) => {
        if (!(error instanceof NodeFailure) || error.status !== 404) throw error
      })
  }

  async move(source: string, destination: string, revision: string): Promise<string> {
    const headers = { 'if-match': `"${revision}"`, 'if-none-match': '*' }
    return revisionOf(
      await this.#requests.send('/move', { method: 'POST', json: { source, destination }, headers }),
    )
  }

  /** Reads a part of a file. If the connection breaks, it goes on from there. */
  async *#readRange(
    path: string,
    { revision, size }: RemoteFileEntry,
    start: number,
    end: number,
  ): AsyncIterable<Uint8Array> {
    let at = start
    for (let failures = 0; at < end || (size === 0 && failures === 0); ) {
      const range = start === 0 && end === size && at === 0 ? {} : { range: `bytes=${at}-${end - 1}` }
      try {
        const answer = await this.#requests.send('/read', {
          query: { path },
          headers: { 'if-match': `"${revision}"`, ...range },
        })
        if (answer.body === null || size === 0) return
        const reader = answer.body.getReader()
        try {
          for (;;) {
            const { done, value } = await reach(answer.url, () => reader.read())
            if (done) break
            if (at + value.length > end)
              throw new SyncFailure('unavailable', `The node sent too many bytes of ${path}.`)
            at += value.length
            failures = 0
            yield value
          }
        } finally {
          await reader.cancel().catch(() => {})
        }
        if (at < end) throw new SyncFailure('unavailable', `The node sent too few bytes of ${path}.`)
      } catch (error) {
        failures += 1
        if (!(error instanceof SyncFailure) || error.kind !== 'unavailable' || failures > mostResumes)
          throw error
      }
    }
  }

  /** Finds out why there is no connection: a WebSocket does not tell the status of a refused request. */
  async #explain(error: unknown): Promise<never> {
    await this.#requests.send('/api/sync/devices').catch((cause: unknown) => {
      if (!(cause instanceof NodeFailure)) throw cause
      if (cause.status === 404)
        throw new SyncFailure('stop', `The node at ${this.#access.url.origin} has no plugin "file-sync".`)
      throw new SyncFailure([401, 403].includes(cause.status) ? 'stop' : 'unavailable', cause.message)
    })
    throw error
  }
}

function entryOf(entry: ListedEntry): RemoteEntry {
  return entry.type === 'directory' ? { type: 'directory' } : fileEntryOf(entry)
}

/** @throws SyncFailure `unavailable` if the node told something that no file has */
function fileEntryOf({
  size = 0,
  revision = '',
  modified,
  name,
}: Omit<ListedEntry, 'type'>): RemoteFileEntry {
  const time = Date.parse(modified)
  if (revision === '' || !Number.isSafeInteger(size) || size < 0 || Number.isNaN(time)) {
    throw new SyncFailure('unavailable', `The node told no revision, size or time of ${nameOf(name)}.`)
  }
  return { type: 'file', size, revision, modified: time }
}

/** The entity tag of an answer, without its quotes. */
function revisionOf(answer: Response): string {
  return answer.headers.get('etag')?.slice(1, -1) ?? ''
}

function conditionOf(revision: string | null): Record<string, string> {
  return revision === null ? { 'if-none-match': '*' } : { 'if-match': `"${revision}"` }
}

/** Nothing is there, or a file is where a folder should be. */
function nullIfGone(error: unknown): null {
  if (error instanceof NodeFailure && error.kind === 'changed') return null
  throw error
}

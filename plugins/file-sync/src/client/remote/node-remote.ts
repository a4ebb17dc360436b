import type { IncomingHttpHeaders } from 'node:http'
import { type Static, Type } from 'typebox'
import { hashesAnswer, longestRevision } from '../../protocol/bodies.ts'
import type { LocalContent, Remote, RemoteEntry, RemoteFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { nameOf } from '../sync-paths.ts'
import { mostEntries, tooManyEntries } from '../sync-state.ts'
import { partsOf, uploadBlocks } from './block-transfer.ts'
import { FeedError, FeedPings, followChanges } from './change-feed.ts'
import { type NodeAccess, NodeFailure, NodeRequests } from './node-requests.ts'

/** Files up to this size are sent whole, in bytes. Larger ones are sent in blocks. */
const mostWhole = 4 * 1024 * 1024

/** Times that a download goes on after an interruption without progress in between. */
const mostResumes = 3

/** Progress of a download is at least this number of bytes in this number of milliseconds. */
const leastBytes = 16 * 1024
const leastBytesMs = 60_000

const pageEntries = 5000

/** The milliseconds since 1970 that RFC 3339 can write. Disks have others. */
const earliestTime = Date.parse('0000-01-01T00:00:00.000Z')
const latestTime = Date.parse('9999-12-31T23:59:59.999Z')

/** An entry as `GET /stat` answers it. */
const statAnswer = Type.Object({
  type: Type.Union([Type.Literal('file'), Type.Literal('directory')]),
  size: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  modified: Type.String({ maxLength: 40 }),
})
type Entry = Static<typeof statAnswer> & { readonly revision?: string }

/** A page of `GET /api/files/list`. */
const listPage = Type.Object({
  entries: Type.Array(
    Type.Object({
      ...statAnswer.properties,
      name: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^/]+$' }),
      revision: Type.Optional(Type.String({ maxLength: longestRevision })),
    }),
    { maxItems: pageEntries },
  ),
  cursor: Type.Union([Type.String({ maxLength: 400 }), Type.Null()]),
  maxFileSize: Type.Optional(Type.Integer({ minimum: 0 })),
})

const copied =
  'Another client has connected as this device: the folder was copied together with its ".nodekeep-sync", perhaps to another machine. This client goes on as a new device. All files are compared, and nothing is deleted.'

/** A node, over its HTTP API and its WebSocket. */
export class NodeRemote implements Remote {
  readonly #access: NodeAccess
  readonly #requests: NodeRequests
  readonly #pings = new FeedPings()
  readonly #onTrouble: (message: string) => void
  readonly #now: () => number
  /** Bytes of the largest file that the node takes. `null` until the node has sent it on this connection. */
  #largestFile: number | null = null

  /**
   * @param onTrouble takes a sentence for the person, such as that another client uses this device
   * @param now milliseconds of a clock that nobody sets
   * @throws SyncFailure `stop` if the token cannot be sent
   */
  constructor(
    access: NodeAccess,
    onTrouble: (message: string) => void = () => {},
    now = () => performance.now(),
  ) {
    this.#access = access
    this.#requests = new NodeRequests(access)
    this.#onTrouble = onTrouble
    this.#now = now
  }

  async follow(...[hello, onMessage, signal]: Parameters<Remote['follow']>): Promise<void> {
    const { deviceName } = this.#access
    const { device } = hello
    // A position of another device says nothing: it may be one of another user.
    const newDevice = { name: deviceName }
    this.#largestFile = null
    try {
      await followChanges(
        this.#access,
        device === undefined ? newDevice : hello,
        onMessage,
        signal,
        this.#pings,
      )
    } catch (error) {
      const code = error instanceof FeedError ? error.code : ''
      // This client has one connection at a time. So it was another one that has connected as this device.
      const isCopied = code === 'CONFLICT'
      const isUnknown = ['FORBIDDEN', 'NOT_FOUND'].includes(code)
      if (device === undefined || !(isCopied || isUnknown)) return this.#explain(error)
      if (isCopied) this.#onTrouble(copied)
      // The device is that of another client, was removed, or belongs to another token.
      await followChanges(this.#access, newDevice, onMessage, signal, this.#pings)
    }
  }

  confirm(): Promise<void> {
    return this.#pings.ping()
  }

  async stat(path: string): Promise<RemoteEntry | null> {
    const answer = await this.#requests
      .askWithHead('/stat', statAnswer, { query: { path } })
      .catch(nullIfGone)
    return answer === null ? null : entryOf(path, { ...answer.body, revision: revisionOf(answer.head) })
  }

  async list(folder: string): Promise<ReadonlyMap<string, RemoteEntry> | null> {
    const found = new Map<string, RemoteEntry>()
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: Record<string, string> = cursor === '' ? {} : { cursor }
      const page = await this.#listPage(folder, { limit: String(pageEntries), ...query })
      if (page === null) return null
      const before = found.size
      for (const entry of page.entries) found.set(entry.name, entryOf(entry.name, entry))
      if (page.cursor !== null && found.size === before)
        throw new SyncFailure('unavailable', `The node lists ${folder} without end.`)
      if (found.size > mostEntries) throw tooManyEntries()
      cursor = page.cursor
    }
    return found
  }

  async largestFile(): Promise<number> {
    if (this.#largestFile === null) await this.#listPage('/', { limit: '1' })
    return this.#largestFile ?? Number.POSITIVE_INFINITY
  }

  async hash(path: string, revision: string, isFresh = false): Promise<string | null> {
    const { hashes } = await this.#requests.ask('/api/sync/hashes', hashesAnswer, {
      method: 'POST',
      json: { files: [{ path, revision }], ...(isFresh && { fresh: true }) },
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
    const modified = Math.min(Math.max(earliestTime, Math.floor(content.modified)), latestTime)
    if (content.size > mostWhole) {
      const time = new Date(modified).toISOString()
      const file = await uploadBlocks(this.#requests, path, content, time, revision)
      return fileEntryOf(path, file)
    }
    const bytes = Buffer.concat(await Array.fromAsync(content.read()))
    const head = await this.#requests.send('/write', {
      method: 'PUT',
      query: { path },
      headers: { 'x-oc-mtime': (modified / 1000).toFixed(3), ...conditionOf(revision) },
      bytes,
    })
    const time = new Date(modified).toISOString()
    return fileEntryOf(path, { size: bytes.length, modified: time, revision: revisionOf(head) })
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
    const json = { source, destination }
    const head = await this.#requests.send('/move', { method: 'POST', json, headers })
    return soundRevision(destination, revisionOf(head))
  }

  stop(): void {
    this.#requests.stop()
  }

  async #listPage(path: string, query: Record<string, string>): Promise<Static<typeof listPage> | null> {
    const page = await this.#requests
      .ask('/api/files/list', listPage, { query: { path, ...query } })
      .catch(nullIfGone)
    if (page !== null) this.#largestFile = page.maxFileSize ?? null
    return page
  }

  /** Reads a part of a file. If the connection breaks, it goes on from there. */
  async *#readRange(
    path: string,
    { revision, size }: RemoteFileEntry,
    start: number,
    end: number,
  ): AsyncIterable<Uint8Array> {
    let at = start
    let failedAt = start
    for (let failures = 0; at < end || size === 0; ) {
      const range = start === 0 && end === size && at === 0 ? {} : { range: `bytes=${at}-${end - 1}` }
      try {
        const answer = await this.#requests.open('/read', {
          query: { path },
          headers: { 'if-match': `"${revision}"`, ...range },
        })
        let [markedAt, markedMs] = [at, this.#now()]
        for await (const value of this.#requests.bytesOf(answer)) {
          if (at + value.length > end)
            throw new SyncFailure('unavailable', `The node sent too many bytes of ${path}.`)
          at += value.length
          if (at - failedAt >= leastBytes) failures = 0
          if (this.#now() - markedMs > leastBytesMs) {
            if (at - markedAt < leastBytes)
              throw new SyncFailure('unavailable', `The node sends ${path} too slowly.`)
            markedAt = at
            markedMs = this.#now()
          }
          yield value
        }
        if (at < end) throw new SyncFailure('unavailable', `The node sent too few bytes of ${path}.`)
        return
      } catch (error) {
        failures += 1
        failedAt = at
        if (!(error instanceof SyncFailure) || error.kind !== 'unavailable' || failures > mostResumes)
          throw error
      }
    }
  }

  /** Finds out why there is no connection: a WebSocket does not give the status of a refused request. */
  async #explain(error: unknown): Promise<never> {
    const answer = await this.#requests.open('/api/sync/devices').catch((cause: unknown) => {
      if (!(cause instanceof NodeFailure)) throw cause
      if (cause.status === 404)
        throw new SyncFailure('stop', `The node at ${this.#access.url.origin} has no plugin "file-sync".`)
      throw new SyncFailure([401, 403].includes(cause.status) ? 'stop' : 'unavailable', cause.message)
    })
    answer.destroy()
    throw error
  }
}

function entryOf(path: string, entry: Entry): RemoteEntry {
  return entry.type === 'directory' ? { type: 'directory' } : fileEntryOf(path, entry)
}

/** @throws SyncFailure `unavailable` if the node sent a size or a time that no file has */
function fileEntryOf(
  path: string,
  { size = 0, revision = '', modified }: Omit<Entry, 'type'>,
): RemoteFileEntry {
  const time = Date.parse(modified)
  if (Number.isNaN(time)) throw new SyncFailure('unavailable', `The node sent no time of ${nameOf(path)}.`)
  return { type: 'file', size, revision: soundRevision(path, revision), modified: time }
}

/** @throws SyncFailure `unavailable` if the node sent no revision, or one that it would not accept */
function soundRevision(path: string, revision: string): string {
  if (revision !== '' && revision.length <= longestRevision) return revision
  throw new SyncFailure('unavailable', `The node sent no revision of ${nameOf(path)}.`)
}

/** The entity tag of an answer, without its quotes. */
function revisionOf({ etag }: IncomingHttpHeaders): string {
  return etag?.slice(1, -1) ?? ''
}

function conditionOf(revision: string | null): Record<string, string> {
  return revision === null ? { 'if-none-match': '*' } : { 'if-match': `"${revision}"` }
}

/** Nothing is there, or a file is where a folder should be. */
function nullIfGone(error: unknown): null {
  if (error instanceof NodeFailure && error.kind === 'changed') return null
  throw error
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  FairSlots,
  type FileIndex,
  type IndexedEntry,
  invalid,
  NodekeepError,
  type User,
} from '@nodekeep/plugin-sdk'
import type { Databases } from '../database/databases.ts'
import { beginning, type FoundEntry, type Position } from '../database/user-index.ts'
import { forgetGone } from '../indexing/forget-gone.ts'
import type { SnippetPart } from '../inside/snippet.ts'
import { folded } from '../inside/words.ts'
import type { Kind } from '../kinds.ts'
import { parseQuery, type Query } from './query.ts'
import type { Snippets } from './snippets.ts'

/** Searches of a user at a time. */
const mostSearches = 8

/** Matches that are looked at for a page. Of a folder with few of many matches, a page may have fewer entries. */
const mostLookedAt = 2000

/** Matches that are read from the database at a time. */
const readAtOnce = 100

/** Entries that are looked up in one turn of the event loop. */
const entriesPerTurn = 50

/** A request. */
interface SearchRequest {
  readonly q: string
  /** The path of a folder; null for all. */
  readonly within: string | null
  readonly kind: Kind | null
  /** The `next` of the page before; null for the first one. */
  readonly after: string | null
  readonly limit: number
}

/** An entry that matches. */
interface SearchMatch {
  readonly entry: IndexedEntry
  readonly match: 'name' | 'content'
  readonly snippet: readonly SnippetPart[] | null
}

interface SearchPage {
  readonly matches: readonly SearchMatch[]
  readonly next: string | null
}

/** The phases of a search: names come first. */
type Phase = 'names' | 'contents'

interface SearchServices {
  readonly index: FileIndex
  readonly databases: Databases
  readonly snippets: Snippets
}

/** A place in the order of all matches. */
interface Place {
  readonly phase: Phase
  readonly position: Position
}

/** Finds files of a user. */
export class Search {
  readonly #services: SearchServices
  readonly #slots = new FairSlots({ mostPerKey: mostSearches })
  #running = 0
  #quiet = Promise.withResolvers<void>()

  constructor(services: SearchServices) {
    this.#services = services
    this.#quiet.resolve()
  }

  /** Waits until no search runs. */
  async untilQuiet(): Promise<void> {
    while (this.#running > 0) await this.#quiet.promise
  }

  /**
   * Finds a page of entries.
   *
   * @throws NodekeepError VALIDATION_ERROR for a query without words, or a bad `after`; TOO_MANY_REQUESTS; the reason of the signal
   */
  async find(user: Pick<User, 'uuid'>, request: SearchRequest, signal: AbortSignal): Promise<SearchPage> {
    const query = parseQuery(request.q)
    const place =
      request.after === null ? { phase: 'names' as const, position: beginning } : placeIn(request.after)
    if (this.#slots.isFull(user.uuid)) throw tooMany()
    if (this.#running === 0) this.#quiet = Promise.withResolvers()
    this.#running += 1
    try {
      return await this.#slots.run(user.uuid, () => this.#page(user, query, request, place, signal))
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#quiet.resolve()
    }
  }

  async #page(
    { uuid }: Pick<User, 'uuid'>,
    query: Query,
    request: SearchRequest,
    place: Place,
    signal: AbortSignal,
  ): Promise<SearchPage> {
    const { databases, snippets } = this.#services
    if (!databases.has(uuid)) return { matches: [], next: null }
    const scan = new Scan(this.#services, uuid, query, request)
    const { found, next } = await scan.run(place, signal)
    const contents = found.filter(({ match }) => match === 'content')
    const made = await snippets.of(uuid, contents, query.wanted, signal)
    signal.throwIfAborted()
    const bySnippet = new Map(contents.map((one, at) => [one, made[at] ?? null]))
    const matches = found.map((one) => ({
      entry: one.entry,
      match: one.match,
      snippet: bySnippet.get(one) ?? null,
    }))
    return { matches, next }
  }
}

interface Found {
  readonly number: number
  readonly entry: IndexedEntry
  readonly match: 'name' | 'content'
}

/** The scan of the matches for one page. */
class Scan {
  readonly #services: SearchServices
  readonly #userUuid: string
  readonly #query: Query
  readonly #request: SearchRequest
  #lookedAt = 0

  constructor(services: SearchServices, userUuid: string, query: Query, request: SearchRequest) {
    this.#services = services
    this.#userUuid = userUuid
    this.#query = query
    this.#request = request
  }

  async run(
    from: Place,
    signal: AbortSignal,
  ): Promise<{ readonly found: Found[]; readonly next: string | null }> {
    const found: Found[] = []
    let { phase, position } = from
    for (;;) {
      signal.throwIfAborted()
      const { rows, next } = await this.#rows(phase, position)
      const gone: string[] = []
      for (const row of rows) {
        const entry = await this.#entryOf(row)
        position = row
        if (entry === null) gone.push(row.id)
        else if (this.#isWanted(entry, phase))
          found.push({ number: row.number, entry, match: phase === 'names' ? 'name' : 'content' })
        if (this.#isFull(found)) break
      }
      await forgetGone(this.#services, this.#userUuid, gone)
      if (this.#isFull(found)) return { found, next: textOf({ phase, position }) }
      if (next === null && (phase === 'contents' || this.#query.expression === ''))
        return { found, next: null }
      if (next === null) phase = 'contents'
      position = next ?? beginning
    }
  }

  #isFull(found: readonly Found[]): boolean {
    return found.length === this.#request.limit || this.#lookedAt >= mostLookedAt
  }

  async #rows(phase: Phase, after: Position) {
    const { kind } = this.#request
    const page = { kind, after, limit: readAtOnce }
    const { databases } = this.#services
    return phase === 'names'
      ? databases.call(this.#userUuid, 'names', this.#query.parts, page)
      : databases.call(this.#userUuid, 'contents', this.#query.expression, page)
  }

  async #entryOf({ id }: FoundEntry): Promise<IndexedEntry | null> {
    this.#lookedAt += 1
    if (this.#lookedAt % entriesPerTurn === 0) await nextTurn()
    return this.#services.index.for({ uuid: this.#userUuid }).entry(id)
  }

  /** Whether an entry is in the folder, and comes only in this phase. */
  #isWanted({ path, name }: IndexedEntry, phase: Phase): boolean {
    const { within } = this.#request
    if (within !== null && within !== '/' && !path.startsWith(`${within}/`)) return false
    if (phase === 'names') return true
    const text = folded(name)
    return !this.#query.parts.every((part) => text.includes(part))
  }
}

function textOf({ phase, position: { rank, age, number } }: Place): string {
  return [phase === 'names' ? 'n' : 'c', rank, age, number].join('_')
}

function placeIn(text: string): Place {
  const [, letter, rank, age, number] =
    /^([nc])_(-?[\d.e+-]{1,30})_(-?[\d.e+-]{1,30})_(\d{1,16})$/.exec(text) ?? []
  const position = { rank: Number(rank), age: Number(age), number: Number(number) }
  if (letter === undefined || !Object.values(position).every(Number.isFinite))
    throw invalid('"after" must be the "next" of the page before. Begin without it.')
  return { phase: letter === 'n' ? 'names' : 'contents', position }
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `At most ${mostSearches} searches of a user run at a time. Wait for one to end.`,
    { headers: { 'retry-after': '1' } },
  )
}

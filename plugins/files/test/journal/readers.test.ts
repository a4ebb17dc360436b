import fc from 'fast-check'
import { test } from 'tap'
import type { Journal, PendingChange } from '../../src/journal/journal.ts'
import { temporaryJournal } from './fixtures/temporary-journal.ts'

const users = ['a', 'b'] as const

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('begin' as const), user: fc.constantFrom(...users) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(),
      outcome: fc.constantFrom('commit' as const, 'commit' as const, 'discard' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      reader: fc.nat({ max: 3 }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const) }) },
)

/** Follows the changes of one user from the beginning, page by page, as any reader would. */
class Follower {
  readonly seen: number[] = []
  #last: Promise<unknown> = Promise.resolve()
  readonly #journal: Journal
  readonly #user: string
  readonly #committing: ReadonlySet<number>

  constructor(journal: Journal, user: string, committing: ReadonlySet<number>) {
    this.#journal = journal
    this.#user = user
    this.#committing = committing
  }

  /** Reads one page after those that were requested before. */
  read(limit: number): Promise<number> {
    const page = this.#last.then(() => this.#page(limit))
    this.#last = page
    return page
  }

  async toTheEnd(): Promise<readonly number[]> {
    while ((await this.read(1000)) > 0);
    return this.seen
  }

  async #page(limit: number): Promise<number> {
    const cursor = this.seen.at(-1) ?? 0
    const page = await this.#journal.read(this.#user, cursor, limit)
    if (page.length > limit) throw new Error(`a page of ${limit} has ${page.length} changes`)
    for (const { seq } of page) {
      if (seq <= (this.seen.at(-1) ?? 0)) throw new Error(`${seq} was read too late`)
      if (!this.#committing.has(seq)) throw new Error(`${seq} was not committed`)
      this.seen.push(seq)
    }
    const head = await this.#journal.head(this.#user)
    if (head < (this.seen.at(-1) ?? 0)) throw new Error(`the head ${head} lies before what was read`)
    return page.length
  }
}

test('readers with a cursor get every change once and in order, with concurrent writers', async (t) => {
  const journal = await temporaryJournal(t)
  let run = 0
  const property = fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
    run += 1
    const userOf = (user: string) => `${user}-${run}`
    const committing = new Set<number>()
    const committed = new Map<string, number[]>(users.map((user) => [userOf(user), []]))
    const followers = [...users, ...users].map((user) => new Follower(journal, userOf(user), committing))
    const open: { user: string; change: Promise<PendingChange> }[] = []
    const ends: Promise<void>[] = []
    const reads: Promise<number>[] = []

    const end = async (user: string, beginning: Promise<PendingChange>, outcome: 'commit' | 'discard') => {
      const change = await beginning
      if (outcome === 'commit') {
        committing.add(change.seq)
        committed.get(user)?.push(change.seq)
      }
      await change[outcome]()
    }

    for (const next of steps) {
      if (next.kind === 'begin') {
        const user = userOf(next.user)
        open.push({ user, change: journal.begin({ userUuid: user, op: 'mkdir', path: '/x' }) })
      } else if (next.kind === 'end') {
        const [ended] = open.splice(next.which % Math.max(open.length, 1), 1)
        if (ended) ends.push(end(ended.user, ended.change, next.outcome))
      } else if (next.kind === 'read') {
        const follower = followers[next.reader]
        if (follower) reads.push(follower.read(next.limit))
      } else await journal.probe()
    }
    await Promise.all([...reads, ...ends, ...open.map(({ user, change }) => end(user, change, 'commit'))])

    for (const [index, user] of [...users, ...users].entries()) {
      const expected = committed.get(userOf(user))?.sort((a, b) => a - b)
      const seen = await followers[index]?.toTheEnd()
      if (JSON.stringify(seen) !== JSON.stringify(expected)) {
        throw new Error(`a reader saw ${seen} instead of ${expected}`)
      }
      const head = await journal.head(userOf(user))
      if (head !== (expected?.at(-1) ?? 0)) throw new Error(`the head is ${head}`)
    }
    if ((await journal.pending()).length > 0) throw new Error('something is still pending')
  })
  await t.resolves(fc.assert(property, { numRuns: 100 }))
})

test('readers miss no change while many writers write', async (t) => {
  const journal = await temporaryJournal(t)
  const committing = new Set<number>()
  const follower = new Follower(journal, 'a', committing)
  let writing = true
  const following = (async () => {
    while (writing) await follower.read(10)
  })()
  const writer = async (id: number) => {
    for (let round = 0; round < 40; round += 1) {
      const change = await journal.begin({ userUuid: 'a', op: 'write', path: `/${id}` })
      if (round % 7 === 3) await change.discard()
      else {
        committing.add(change.seq)
        await change.commit()
      }
    }
  }
  await Promise.all(Array.from({ length: 32 }, (_, id) => writer(id)))
  writing = false
  await following
  t.strictSame(
    await follower.toTheEnd(),
    [...committing].sort((a, b) => a - b),
  )
})

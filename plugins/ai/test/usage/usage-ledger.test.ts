import { mock } from 'node:test'
import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { UsageLedger } from '../../src/usage/usage-ledger.ts'

const dayMs = 86_400_000
const chat = {
  provider: 'acme',
  model: 'large',
  outcome: 'finished',
  inputTokens: 1,
  outputTokens: 2,
  estimated: false,
} as const

/** Returns a ledger on a state in memory, which records the writes and can be made to fail. */
function createLedger(keepDays = 3) {
  const entries = new Map<string, unknown>()
  const writes: [key: string, ttlMs: number | undefined][] = []
  const warnings: unknown[] = []
  const broken = { writing: false }
  const state: Partial<StateStore> = {
    get: async <T>(key: string) => entries.get(key) as T | undefined,
    async set(key, value, ttlMs) {
      if (broken.writing) throw new Error('The disk is full.')
      entries.set(key, structuredClone(value))
      writes.push([key, ttlMs])
    },
    delete: async (key) => entries.delete(key),
    async *entries<T>() {
      for (const [key, value] of entries) yield [key, value as T] as const
    },
  }
  const log = { warn: (line: unknown) => warnings.push(line) } as unknown as Log
  const parts = { state: state as StateStore, log, keepDays }
  return { ledger: new UsageLedger(parts), parts, entries, writes, warnings, broken }
}

t.test('The ledger follows the clock', async (t) => {
  t.beforeEach(() =>
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.UTC(2026, 6, 31, 23, 59, 58) }),
  )
  t.afterEach(() => mock.timers.reset())

  t.test('Changes are stored together within a second and expire', async (t) => {
    const { ledger, writes } = createLedger()
    const [day, same] = await Promise.all([ledger.open('ada'), ledger.open('ada')])
    t.equal(day, same, 'All chats of a day have one account.')
    day.add(chat)
    mock.timers.tick(500)
    day.add(chat)
    t.strictSame(writes, [])
    mock.timers.tick(500)
    await flushCallbacks()
    t.strictSame(writes, [['2026-07-31/ada', 1000 + 3 * dayMs]])
    mock.timers.tick(5000)
    await ledger.flush()
    t.equal(writes.length, 1, 'Nothing is stored twice.')
  })

  t.test('A chat counts on the day on which it began', async (t) => {
    const { ledger, writes } = createLedger()
    const day = await ledger.open('ada')
    mock.timers.tick(10_000)
    const next = await ledger.open('ada')
    t.equal(next.tokens, 0)
    day.add(chat)
    next.add(chat)
    next.add(chat)
    await ledger.flush()
    t.strictSame(writes.map(([key]) => key).sort(), ['2026-07-31/ada', '2026-08-01/ada'])
    t.match(await ledger.report('ada'), [
      { day: '2026-07-31', requests: 1 },
      { day: '2026-08-01', requests: 2 },
    ])
    mock.timers.tick(2 * dayMs)
    t.match(
      await ledger.report('ada'),
      [{ day: '2026-08-01' }],
      'The report has only the days that are kept.',
    )
  })

  t.test('A write that fails is retried', async (t) => {
    const { ledger, broken, writes, warnings } = createLedger()
    const day = await ledger.open('ada')
    day.add(chat)
    broken.writing = true
    for (let n = 1; n <= 3; n += 1) {
      mock.timers.tick(1000)
      await flushCallbacks()
      t.equal(warnings.length, n)
    }
    broken.writing = false
    mock.timers.tick(1000)
    await flushCallbacks()
    t.equal(writes.length, 1)
    t.match(await ledger.report('ada'), [{ requests: 1 }])
  })
})

t.test('A new ledger continues the counts of the former one', async (t) => {
  const { ledger, parts } = createLedger()
  const day = await ledger.open('ada')
  day.add(chat)
  await ledger.flush()
  const other = await new UsageLedger(parts).open('ada')
  t.equal(other.tokens, 3)
  other.add(chat)
  t.match(other.rows, [{ requests: 2, inputTokens: 2, outputTokens: 4 }])
})

t.test('Unused accounts are evicted from memory and read again later', async (t) => {
  const { ledger, entries } = createLedger()
  const open = await ledger.open('busy')
  for (let n = 0; n < 1500; n += 1) {
    const day = await ledger.open(`user-${n}`)
    day.add(chat)
    if (n % 100 === 0) await ledger.flush()
    ledger.close(day)
  }
  await ledger.flush()
  ledger.close(await ledger.open('last'))
  await flushCallbacks()
  open.add(chat)
  t.equal(await ledger.open('busy'), open, 'An account is not evicted while a chat is open.')
  entries.set([...entries.keys()].find((key) => key.endsWith('/user-3')) ?? '', [])
  t.equal((await ledger.open('user-3')).tokens, 0)
})

t.test('An account that is being opened is not evicted', async (t) => {
  const { ledger, entries } = createLedger()
  const days = await Promise.all(Array.from({ length: 1001 }, (_, n) => ledger.open(`user-${n}`)))
  const opening = ledger.open('ada')
  // Each of them evicts accounts, at every step of the opening.
  for (const day of days) {
    ledger.close(day)
    await null
  }
  const opened = await opening
  opened.add(chat)
  await ledger.flush()
  t.strictSame(
    [...entries.keys()].map((key) => key.split('/')[1]),
    ['ada'],
  )
})

t.test('An erased user stays erased, even if a chat of the user was running', async (t) => {
  const { ledger, entries } = createLedger()
  const [day, other] = [await ledger.open('ada'), await ledger.open('bob')]
  day.add(chat)
  other.add(chat)
  await ledger.flush()
  await ledger.erase('ada')
  day.add(chat)
  await ledger.flush()
  t.strictSame(
    [...entries.keys()].map((key) => key.split('/')[1]),
    ['bob'],
  )
})

t.test('What a newer version has stored in a day is kept', async (t) => {
  const { ledger, parts, entries } = createLedger()
  const day = await ledger.open('ada')
  day.add(chat)
  await ledger.flush()
  const [[key, rows] = ['', []]] = [...entries] as [string, object[]][]
  entries.set(
    key,
    rows.map((row) => ({ ...row, cached: 7 })),
  )
  const former = new UsageLedger(parts)
  const again = await former.open('ada')
  again.add(chat)
  await former.flush()
  t.match(entries.get(key), [{ requests: 2, cached: 7 }])
})

/** Lets all pending callbacks run. */
async function flushCallbacks(): Promise<void> {
  for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve))
}

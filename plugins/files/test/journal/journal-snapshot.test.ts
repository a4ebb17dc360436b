// In a process of its own: all tests share a journal, which is closed when they have ended.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { journalFile, temporaryJournal, version } from './fixtures/temporary-journal.ts'

const journal = await temporaryJournal(t)
const never = new AbortController().signal
const born = new Date('2001-02-03T04:05:06.789Z')

test('a moment has the dates of changes whose outcome is not recorded yet', async (t) => {
  const ada = randomUUID()
  const overwrite = (path: string) =>
    journal.begin({ userUuid: ada, op: 'write', path, revision: `of ${path}`, created: born })
  await (await overwrite('/folder/settled')).commit()
  await overwrite('/folder/pending')
  await journal.begin({ userUuid: ada, op: 'move', source: '/folder', path: '/moved' })
  const moment = journal.openSnapshot()
  t.teardown(() => moment.close())
  moment.fix()
  await moment.load(never)
  for (const name of ['settled', 'pending']) {
    const file = version(`of /folder/${name}`)
    t.strictSame(moment.createdOf(ada, `/folder/${name}`, file), born, 'if the move was not applied')
    t.strictSame(moment.createdOf(ada, `/moved/${name}`, file), born, 'if it was')
    t.equal(moment.createdOf(ada, `/moved/${name}`, version('another')), null)
    t.equal(moment.createdOf(ada, `/movedx/${name}`, file), null)
    t.equal(moment.createdOf(randomUUID(), `/folder/${name}`, file), null)
  }
})

test('a moment does not change when the journal does', async (t) => {
  const ada = randomUUID()
  const begin = { userUuid: ada, op: 'mkdir', path: '/.copying-1', staging: 'begin' } as const
  await (await journal.begin(begin)).commit()
  const write = { userUuid: ada, op: 'write', path: '/a', revision: '1', created: born } as const
  await (await journal.begin(write)).commit()
  const moment = journal.openSnapshot()
  t.teardown(() => moment.close())
  moment.fix()
  const place = { userUuid: ada, op: 'move', source: '/.copying-1', path: '/b', staging: 'place' } as const
  await (await journal.begin(place)).commit()
  await (await journal.begin({ userUuid: ada, op: 'delete', path: '/a' })).commit()
  t.strictSame(await journal.stagedMoves(), [])
  await moment.load(never)
  t.ok(moment.isStaged(ada, '/.copying-1'))
  t.notOk(moment.isStaged(ada, '/a'))
  t.strictSame(moment.createdOf(ada, '/a', version('1')), born)
})

test('a moment that copied its dates holds nothing of the journal', async (t) => {
  const file = await journalFile(t)
  const journal = await temporaryJournal(t, { file })
  const ada = randomUUID()
  const files = 4001
  const modified = new Date(0)
  const path = (index: number) => `store/${ada}/${index % 7}/ledger ${index}`
  await journal.restoreCreated(
    Array.from({ length: files }, (_, index) => ({
      userUuid: ada,
      path: `/${path(index)}`,
      size: 1,
      modified,
      created: new Date(index),
    })),
  )
  const moment = journal.openSnapshot()
  t.teardown(() => moment.close())
  moment.fix()
  await moment.copyDates(never)
  await journal.erase(ada)
  const traces = () => ['', '-wal'].some((suffix) => readFileSync(file + suffix).includes('ledger'))
  while (traces()) await delay(20)
  for (let index = 0; index < files; index += 1) {
    const known = moment.createdOf(ada, `/${path(index)}`, version('any'))
    if (known?.getTime() !== index) t.fail(`the date of ${index} is ${known?.toISOString()}`)
  }
})

test('an erasure neither waits for a moment nor leaves anything in the file after it', async (t) => {
  const file = await journalFile(t)
  const journal = await temporaryJournal(t, { file })
  const ada = randomUUID()
  await (await journal.begin({ userUuid: ada, op: 'mkdir', path: '/ledger' })).commit()
  const moment = journal.openSnapshot()
  moment.fix()
  const begun = performance.now()
  await journal.erase(ada)
  t.ok(performance.now() - begun < 2500, 'other writers are not held up')
  moment.close()
  const traces = () => ['', '-wal'].some((suffix) => readFileSync(file + suffix).includes('ledger'))
  while (traces()) await delay(20)
})

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { type Journal, openJournal } from '../../src/journal/journal.ts'
import { journalFile, temporaryJournal, version } from './fixtures/temporary-journal.ts'

async function write(journal: Journal, userUuid: string, count: number): Promise<number[]> {
  const changes = Array.from({ length: count }, async (_, index) => {
    const path = `/a-name-to-be-forgotten-${index}`
    const { seq, commit } = await journal.begin({
      userUuid,
      op: 'write',
      path,
      revision: 'r',
      created: new Date(1),
    })
    await commit()
    return seq
  })
  return Promise.all(changes)
}

/** Prunes, and waits until the changes after a number are no longer kept. */
async function forgotten(journal: Journal, userUuid: string, after: number): Promise<unknown> {
  journal.prune()
  while (true) {
    const error: unknown = await journal.read(userUuid, after, 1).then(
      () => null,
      (reason) => reason,
    )
    if (error !== null) return error
    await journal.probe()
  }
}

test('old changes are deleted when pruning begins, except the newest of each user', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const ada = await write(first, 'ada', 30)
  const bob = await write(first, 'bob', 5)
  const last = ada.at(-11) ?? 0
  const id = first.idOf('ada', last)
  await first.close()

  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 10 })
  await journal.probe()
  t.equal((await journal.read('ada', 0)).length, 30, 'a node on trial deletes nothing')
  t.match(await forgotten(journal, 'ada', last - 1), { code: 'CONFLICT', message: /no longer kept/ })
  await t.rejects(journal.read('ada', 0), { code: 'CONFLICT' })
  t.strictSame(
    (await journal.read('ada', last)).map(({ seq }) => seq),
    ada.slice(-10),
  )
  t.equal(journal.idOf('ada', last), id, 'a reader that has just this one goes on')
  t.equal(journal.idOf('ada', last - 1), null)
  t.strictSame(
    (await journal.read('bob', 0)).map(({ seq }) => seq),
    bob,
  )
  t.equal(await journal.head('ada'), ada.at(-1))
})

test('old changes are deleted in several steps', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const seqs = await write(first, 'ada', 10_500)
  await first.close()
  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 1 })
  await forgotten(journal, 'ada', (seqs.at(-2) ?? 0) - 1)
  t.strictSame(
    (await journal.read('ada', seqs.at(-2) ?? 0)).map(({ seq }) => seq),
    seqs.slice(-1),
  )
})

test('recent changes are kept, and so are pending ones and all later ones', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const before = await write(first, 'ada', 5)
  const pending = await first.begin({ userUuid: 'ada', op: 'mkdir', path: '/pending' })
  await write(first, 'ada', 5)
  await first.close()

  const young = await openJournal(file, { keepDays: 1, keepNewest: 1 })
  young.prune()
  await young.probe()
  t.equal((await young.read('ada', 0)).length, 5)
  await young.close()

  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 1 })
  await forgotten(journal, 'ada', (before.at(-1) ?? 0) - 1)
  await journal.resolve(pending.seq, 'commit')
  t.equal((await journal.read('ada', before.at(-1) ?? 0)).length, 6)
})

test('a change of a clock that was ahead holds back no others, and a clock that is behind deletes none', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const seqs = await write(first, 'ada', 20)
  await first.close()
  const date = (seq: number | undefined, days: number) => {
    const connection = new DatabaseSync(file)
    const at = Date.now() + days * 86_400_000
    connection.prepare('UPDATE changes SET at = ? WHERE seq = ?').run(at, Number(seq))
    connection.close()
  }
  date(seqs[2], 3650)
  date(seqs.at(-1), 3650)
  const behind = await openJournal(file, { keepDays: 0, keepNewest: 1 })
  behind.prune()
  await behind.probe()
  t.equal((await behind.read('ada', 0)).length, 20)
  await behind.close()
  date(seqs.at(-1), -1)
  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 1 })
  await forgotten(journal, 'ada', (seqs.at(-2) ?? 0) - 1)
  t.equal((await journal.read('ada', seqs.at(-2) ?? 0)).length, 1)
})

test('changes that a reader still needs are kept until it releases them', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const seqs = await write(first, 'ada', 10)
  await first.retainFrom('ada', 'sync', seqs[3] ?? 0)
  await first.retainFrom('ada', 'index', seqs[5] ?? 0)
  await first.close()

  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 1 })
  const last = await forgotten(journal, 'ada', (seqs[3] ?? 0) - 1)
  t.match(last, { code: 'CONFLICT' })
  t.equal((await journal.read('ada', seqs[3] ?? 0)).length, 6)
  await journal.retainFrom('ada', 'sync', null)
  await forgotten(journal, 'ada', (seqs[5] ?? 0) - 1)
  t.equal((await journal.read('ada', seqs[5] ?? 0)).length, 4)
  await journal.retainFrom('ada', 'index', seqs[7] ?? 0)
  await forgotten(journal, 'ada', (seqs[7] ?? 0) - 1)
  t.equal((await journal.read('ada', seqs[7] ?? 0)).length, 2)
})

test('a reader that has not called for a year is forgotten', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  const seqs = await write(first, 'ada', 10)
  await first.retainFrom('ada', 'gone', seqs[1] ?? 0)
  await first.retainFrom('ada', 'late', seqs[5] ?? 0)
  await first.close()
  const connection = new DatabaseSync(file)
  for (const [reader, days] of [
    ['gone', 366],
    ['late', 364],
  ] as const)
    connection
      .prepare('UPDATE kept SET at = ? WHERE reader = ?')
      .run(Date.now() - days * 24 * 60 * 60 * 1000, reader)
  connection.close()

  const journal = await temporaryJournal(t, { file, keepDays: 0, keepNewest: 1 })
  await forgotten(journal, 'ada', (seqs[5] ?? 0) - 1)
  t.equal((await journal.read('ada', seqs[5] ?? 0)).length, 4)
})

test('an erased user is in no page of the files, not even in a free one', async (t) => {
  const file = await journalFile(t)
  const journal = await temporaryJournal(t, { file })
  await write(journal, 'ada', 500)
  const pending = await journal.begin({
    userUuid: 'ada',
    op: 'write',
    path: '/a-name-to-be-forgotten',
    revision: 'r',
    created: new Date(1),
  })
  const bob = await write(journal, 'bob', 1)
  await journal.erase('ada')
  await pending.commit()
  t.strictSame(await journal.read('ada', 0), [])
  t.equal(await journal.head('ada'), 0)
  t.strictSame(await journal.pending(), [])
  t.equal(await journal.createdOf('ada', '/a-name-to-be-forgotten-1', version('r')), null)
  t.strictSame(
    (await journal.read('bob', 0)).map(({ seq }) => seq),
    bob,
  )
  await journal.erase('bob')
  await journal.close()
  for (const name of await readdir(dirname(file))) {
    t.notOk((await readFile(join(dirname(file), name))).includes('a-name-to-be-forgotten'), name)
  }
})

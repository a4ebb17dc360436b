import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { journalFile, temporaryJournal } from './fixtures/temporary-journal.ts'

const intent = { userUuid: 'a', op: 'mkdir', path: '/x' } as const

test('every call rejects when the thread ends, and none hangs', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Worker>()
  process.once('worker', resolve)
  const file = await journalFile(t)
  const journal = await temporaryJournal(t, { file })
  const before = await journal.begin(intent)
  const running = Array.from({ length: 20 }, () =>
    journal.begin(intent).then(
      () => null,
      (error) => error,
    ),
  )
  await (await promise).terminate()
  for (const error of await Promise.all(running)) if (error) t.match(error, { code: 'SERVICE_UNAVAILABLE' })
  const unavailable = { code: 'SERVICE_UNAVAILABLE', message: /Restart the node/ }
  await t.rejects(journal.begin(intent), unavailable)
  await t.rejects(before.commit(), unavailable)
  await t.rejects(journal.erase('a'), unavailable)
  await t.rejects(journal.probe(), unavailable)
  await journal.close()

  const again = await temporaryJournal(t, { file })
  t.ok((await again.pending()).some(({ seq }) => seq === before.seq))
})

test('closing waits for running calls, and refuses later ones', async (t) => {
  const file = await journalFile(t)
  const journal = await openJournal(file)
  const early = await journal.begin(intent)
  const running = [...Array.from({ length: 50 }, () => journal.begin(intent)), early.commit()]
  const closing = [journal.close(), journal.close()]
  const closed = { code: 'SERVICE_UNAVAILABLE', message: /closed/ }
  await t.rejects(journal.begin(intent), closed)
  await t.resolves(Promise.all(running))
  await Promise.all(closing)
  const late: Promise<unknown>[] = [
    journal.read('a', 0),
    journal.head('a'),
    journal.pending(),
    journal.probe(),
    early.commit(),
  ]
  for (const call of late) {
    await t.rejects(
      call.then(() => {}),
      closed,
    )
  }
  const again = await temporaryJournal(t, { file })
  t.equal((await again.pending()).length, 50)
  t.equal((await again.read('a', 0)).length, 1)
})

test('an intent that cannot be cloned fails alone', async (t) => {
  const journal = await temporaryJournal(t)
  const strange = { ...intent, signal: () => {} }
  await t.rejects(journal.begin(strange), { code: 'SERVICE_UNAVAILABLE' })
  const { commit } = await journal.begin(intent)
  await commit()
  t.equal((await journal.read('a', 0)).length, 1)
})

test('only the account of the node can read the files of a journal', async (t) => {
  const file = await journalFile(t)
  await temporaryJournal(t, { file })
  for (const name of [file, `${file}-wal`, `${file}-shm`])
    t.equal((await stat(name)).mode & 0o777, 0o600, name)
})

test('a journal that cannot be opened gives a one-line error', async (t) => {
  const file = await journalFile(t)
  await t.rejects(
    openJournal(join(dirname(file), 'missing', 'journal.sqlite')),
    /cannot be opened: .*ENOENT.*missing/,
  )

  await mkdir(join(dirname(file), 'folder'))
  await t.rejects(openJournal(join(dirname(file), 'folder')), /cannot be opened/)

  await writeFile(
    join(dirname(file), 'damaged'),
    'This is no database, and it is longer than a header. '.repeat(99),
  )
  await t.rejects(openJournal(join(dirname(file), 'damaged')), /cannot be opened: file is not a database/)
  t.match(
    await readFile(join(dirname(file), 'damaged'), 'utf8'),
    /^This is no database/,
    'the file is unchanged',
  )

  const newer = new DatabaseSync(join(dirname(file), 'newer'))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  await t.rejects(openJournal(join(dirname(file), 'newer')), /newer version of Nodekeep/)
})

import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { journalFile, temporaryJournal, version } from './fixtures/temporary-journal.ts'

const ada = '6f0b0b4e-6d0c-4a53-9d6b-0d7a6d1b8c11'
const bob = '0d9b4c7e-31b0-4a0e-8f0f-7e6a0f8f3b22'

test('a change can be read once it is committed', async (t) => {
  const journal = await temporaryJournal(t)
  const before = Date.now()
  const { seq, commit } = await journal.begin({
    userUuid: ada,
    op: 'move',
    path: '/b',
    source: '/a',
    size: 3,
    revision: 'r1',
    by: 'phone',
    created: new Date(5),
  })
  t.strictSame(await journal.read(ada, 0), [])
  t.equal(await journal.head(ada), 0)
  await commit()
  const [change, ...others] = await journal.read(ada, 0)
  t.strictSame(others, [])
  t.match(change, { seq, op: 'move', path: '/b', source: '/a', size: 3, revision: 'r1', by: 'phone' })
  t.notOk(change && 'created' in change, 'readers do not get the date of the replaced file')
  t.ok(change && change.at.getTime() >= before && change.at.getTime() <= Date.now())
  t.equal(await journal.head(ada), seq)
})

test('a change has no properties for missing details', async (t) => {
  const journal = await temporaryJournal(t)
  const { seq, commit } = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/a' })
  await commit()
  const [change] = await journal.read(ada, 0)
  t.strictSame(Object.keys(change ?? {}).sort(), ['at', 'id', 'op', 'path', 'seq'])
  t.equal(change?.seq, seq)
})

test('a later change waits for an earlier one of the same user, and for no other', async (t) => {
  const journal = await temporaryJournal(t)
  const first = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/1' })
  const second = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/2' })
  const foreign = await journal.begin({ userUuid: bob, op: 'mkdir', path: '/3' })
  await second.commit()
  await foreign.commit()
  t.strictSame(await journal.read(ada, 0), [])
  t.equal(await journal.head(ada), 0, 'the head is never beyond the last change that can be read')
  t.equal((await journal.read(bob, 0)).length, 1)
  await first.discard()
  t.strictSame(
    (await journal.read(ada, 0)).map(({ path }) => path),
    ['/2'],
  )
})

test('numbers only grow, even after discarding, erasing and reopening', async (t) => {
  const file = await journalFile(t)
  const seen: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const journal = await openJournal(file)
    const { seq, commit, discard } = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/a' })
    await (round === 1 ? discard() : commit())
    if (round === 0) await journal.erase(ada)
    await journal.close()
    seen.push(seq)
  }
  t.ok(Number(seen[0]) > 0)
  t.ok(Number(seen[0]) < Number(seen[1]) && Number(seen[1]) < Number(seen[2]), String(seen))
})

test('changes are read in pages', async (t) => {
  const journal = await temporaryJournal(t)
  const paths = Array.from({ length: 1203 }, (_, index) => `/${index}`)
  for (const path of paths)
    void journal.begin({ userUuid: ada, op: 'mkdir', path }).then(({ commit }) => commit())
  await journal.probe()
  while ((await journal.pending()).length > 0) await journal.probe()
  const first = await journal.read(ada, 0)
  t.equal(first.length, 1000)
  const rest = await journal.read(ada, first.at(-1)?.seq ?? 0)
  t.strictSame(
    [...first, ...rest].map(({ path }) => path),
    paths,
  )
  t.equal((await journal.read(ada, 0, 7)).length, 7)
  t.equal(await journal.head(ada), rest.at(-1)?.seq)
  await t.rejects(journal.read(ada, -1), { code: 'VALIDATION_ERROR' })
  await t.rejects(journal.read(ada, 0.5), { code: 'VALIDATION_ERROR' })
  await t.rejects(journal.read(ada, 0, 0), { code: 'VALIDATION_ERROR' })
})

test('a change has one outcome', async (t) => {
  const journal = await temporaryJournal(t)
  const kept = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/kept' })
  const dropped = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/dropped' })
  await kept.commit()
  await kept.discard()
  await dropped.discard()
  await dropped.commit()
  await journal.resolve(999, 'commit')
  t.strictSame(
    (await journal.read(ada, 0)).map(({ path }) => path),
    ['/kept'],
  )
})

test('the epoch belongs to the file', async (t) => {
  const file = await journalFile(t)
  const first = await openJournal(file)
  await first.close()
  const second = await openJournal(file)
  await second.close()
  const other = await temporaryJournal(t)
  t.equal(second.epoch, first.epoch)
  t.not(other.epoch, first.epoch)
  t.ok(first.epoch.length > 10)
})

test('a number above the head is refused, since it belongs to another journal', async (t) => {
  const journal = await temporaryJournal(t)
  const { seq, commit } = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/a' })
  await commit()
  t.strictSame(await journal.read(ada, seq), [])
  await t.rejects(journal.read(ada, seq + 1), { code: 'CONFLICT', message: /List the files again/ })
  await t.rejects(journal.read(bob, 1), { code: 'CONFLICT' })
})

test('a renewed journal has another epoch, no changes, and larger numbers', async (t) => {
  const file = await journalFile(t)
  const journal = await openJournal(file)
  const { epoch } = journal
  const old = await journal.begin({
    userUuid: ada,
    op: 'write',
    path: '/a',
    revision: 'r',
    created: new Date(5),
  })
  await old.commit()
  const open = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/open' })
  await journal.renew()
  t.not(journal.epoch, epoch)
  t.strictSame(await journal.read(ada, 0), [])
  t.strictSame(await journal.createdOf(ada, '/a', version('r')), new Date(5), 'dates of files stay')
  await open.commit()
  t.match(await journal.read(ada, 0), [{ path: '/open' }], 'the outcome of a running change is news')
  const next = await journal.begin({ userUuid: ada, op: 'mkdir', path: '/next' })
  t.ok(next.seq > old.seq)
  await next.commit()
  await journal.close()
  const again = await temporaryJournal(t, { file })
  t.equal(again.epoch, journal.epoch)
  t.equal((await again.read(ada, 0)).length, 2)
})

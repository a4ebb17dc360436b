import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { EntryReader } from '../../src/entries/entry-reader.ts'
import { EntryStatements } from '../../src/entries/entry-statements.ts'
import { RemovedEntries } from '../../src/entries/removed-entries.ts'
import type { ChangeIntent } from '../../src/journal/change.ts'
import { ChangeStatements } from '../../src/journal/change-statements.ts'
import { GroupCommit } from '../../src/journal/group-commit.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'

type Change = Omit<ChangeIntent, 'userUuid'>

/** The index of a user, as the thread of the journal writes it. */
function openIndex(t: Test, file = join(t.testdir(), 'journal.sqlite')) {
  const connection = openJournalFile(file)
  t.teardown(() => connection.close())
  const mounts = [['/', 'local']] as const
  const entries = new EntryStatements(connection, mounts)
  const changes = new ChangeStatements(connection, entries)
  const group = new GroupCommit(connection, changes, entries, new RemovedEntries(connection))
  const total = () => Number(connection.prepare('SELECT total_changes() AS rows').get()?.rows)
  return {
    connection,
    reader: new EntryReader(connection, mounts),
    file,
    /** Lets the storage have the files of a disk. */
    mount(storageId: string) {
      group.write([{ id: 1, request: { kind: 'set-storage', name: 'local', storageId } }])
    },
    /** The highest stamp of an entry. */
    lastStamp: () => Number(connection.prepare('SELECT max(stamp) AS last FROM entries').get()?.last),
    /** Writes changes in one transaction. Returns how many rows it changed, and whether all was written. */
    write(changes: readonly Change[], userUuid = 'ada') {
      const before = total()
      const requests = changes.map((change, id) => {
        return { id, request: { kind: 'add' as const, changes: [{ userUuid, ...change }] } }
      })
      const isWritten = group.write(requests).every(({ failure }) => failure === undefined)
      return { rows: total() - before, isWritten }
    },
    /** Records changes one by one, as the node makes them. Returns the most rows of a step. */
    record(list: readonly Change[], userUuid = 'ada') {
      let most = 0
      const rowsOf = (write: () => void) => {
        const before = total()
        write()
        most = Math.max(most, total() - before)
      }
      for (const change of list) {
        group.write([{ id: 1, request: { kind: 'begin', intent: { userUuid, ...change } } }])
        const seq = Number(connection.prepare('SELECT max(seq) AS seq FROM changes').get()?.seq)
        rowsOf(() => group.write([{ id: 2, request: { kind: 'resolve', seq, outcome: 'commit' } }]))
        while (group.hasSteps) rowsOf(() => group.step())
      }
      return most
    },
    /** The bytes and the number of all entries of a user. */
    usage(user = 'ada') {
      const sums = 'SELECT size, below FROM entries JOIN trees ON trees.root = entries.id WHERE user = ?'
      return { ...connection.prepare(sums).get(user) }
    },
  }
}

t.test('many changes in a deep folder write each folder above them once', async (t) => {
  const index = openIndex(t)
  const deep = '/d'.repeat(2000)
  const made = index.write([{ op: 'mkdir', path: deep }])
  t.ok(made.rows < 3 * 2000, `${made.rows} rows for 2,000 new folders`)
  const files = Array.from({ length: 100 }, (_, i) => {
    return { op: 'write', path: `${deep}/${i}`, size: 3, revision: `r${i}` } as const
  })
  const written = index.write(files)
  t.ok(written.rows < 3000, `${written.rows} rows for 100 files below 2,000 folders`)
  t.strictSame(index.usage(), { size: 300, below: 2100 })
})

t.test('sizes whose sum is no exact number any more stop nobody', async (t) => {
  const index = openIndex(t)
  const big = (name: string) => {
    return { op: 'write', path: `/sparse/${name}`, size: Number.MAX_SAFE_INTEGER, revision: name } as const
  }
  const many = Array.from({ length: 2000 }, (_, i) => big(`${i}`))
  t.ok(index.write(many).isWritten)
  t.ok(index.write([{ op: 'write', path: '/sparse/small', size: 1, revision: 'r' }]).isWritten)
  t.ok(index.write([{ op: 'write', path: '/file', size: 4, revision: 'r' }], 'bert').isWritten)
  t.match(index.usage(), { below: 2002 })
  t.ok(Number(index.usage().size) > 2 ** 63)
  t.strictSame(index.usage('bert'), { size: 4, below: 1 })
})

t.test('a stamp that a power cut took is not used again', async (t) => {
  const index = openIndex(t)
  index.write([{ op: 'mkdir', path: '/a' }])
  const left = `${index.file}.left`
  for (const part of ['', '-wal']) await copyFile(`${index.file}${part}`, `${left}${part}`)
  index.write([{ op: 'mkdir', path: '/lost' }])
  const seen = index.lastStamp()
  const after = openIndex(t, left)
  after.write([{ op: 'mkdir', path: '/new' }])
  t.ok(after.lastStamp() > seen)
})

const path = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 })
  .map((names) => `/${names.join('/')}`)
const name = fc.constantFrom('k1', 'k2', 'k3')
/** A storage that moves a folder file by file keeps and restores parts of it. */
const part = fc.oneof(name, fc.constantFrom('k4/a', 'k4/b/c'))
/** A change, with or without something that it keeps. */
const keeping = (change: fc.Arbitrary<Change>, names: fc.Arbitrary<string> = name) =>
  fc
    .tuple(change, fc.option(names))
    .map(([change, keptAs]): Change => (keptAs === null ? change : { ...change, keptAs }))
const written = { op: fc.constant('write' as const), path, size: fc.nat(1000) }
const removed = { op: fc.constant('delete' as const), path, size: fc.nat(1000) }
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: keeping(fc.record(written)) },
  keeping(fc.record({ ...written, restores: name })),
  fc.record({ op: fc.constant('mkdir'), path }),
  keeping(fc.record(removed), part),
  keeping(fc.record({ ...removed, revision: fc.constant('r') }), part),
  fc.record({ op: fc.constant('move'), path, restores: part, staging: fc.constant('place') }),
  keeping(
    fc
      .record({ op: fc.constant('move' as const), source: path, path })
      .filter(
        (of) => !`${of.path}/`.startsWith(`${of.source}/`) && !`${of.source}/`.startsWith(`${of.path}/`),
      ),
  ),
)

/** Folders with other sums than those of what is in them, and kept entries that are not in a folder of kept files. */
const wrong = `
  SELECT above.id FROM entries above WHERE type = 'directory' AND
    (size <> (SELECT total(size) FROM entries WHERE parent = above.id) OR
     below <> (SELECT total(1 + below) FROM entries WHERE parent = above.id))
  UNION ALL SELECT e.id FROM entries e JOIN trees t ON t.id = e.tree AND t.kept_root = e.parent
    WHERE NOT EXISTS (SELECT 1 FROM kept_entries WHERE entry = e.id)
  UNION ALL SELECT entry FROM kept_entries k WHERE NOT EXISTS
    (SELECT 1 FROM entries e JOIN trees t ON t.id = e.tree AND e.parent IN (t.kept_root, 0) WHERE e.id = k.entry)`

t.test('the sums of folders are those of what is in them, whatever one transaction changes', async (t) => {
  const index = openIndex(t)
  const found = index.connection.prepare(wrong)
  const transaction = fc.array(change, { minLength: 1, maxLength: 20 })
  const isRight = fc.property(transaction, fc.boolean(), (changes, isAtOnce) => {
    const isRecorded = ({ restores, keptAs }: Change) => restores !== undefined || keptAs !== undefined
    if (isAtOnce) index.write(changes.filter((change) => !isRecorded(change)))
    else index.record(changes)
    return found.get() === undefined
  })
  const { counterexample, errorInstance } = fc.check(isRight, { numRuns: 300, seed: 43, endOnFailure: true })
  t.equal(counterexample, null, String(errorInstance))
})

t.test('a large folder goes to the trash and comes back in small steps', async (t) => {
  const index = openIndex(t)
  const files = Array.from({ length: 3000 }, (_, i) => {
    return { op: 'write', path: `/large/${i % 50}/${i}`, size: 2, revision: `r${i}` } as const
  })
  for (let start = 0; start < files.length; start += 100) index.write(files.slice(start, start + 100))
  const removal = index.record([{ op: 'delete', path: '/large', keptAs: 'k1' }])
  t.ok(removal < 20, `${removal} rows to delete 3,000 files`)
  t.strictSame(index.usage(), { size: 0, below: 0 })
  const most = index.record([{ op: 'move', path: '/back', restores: 'k1', staging: 'place' }])
  t.ok(most < 1000, `${most} rows in one step`)
  t.strictSame(index.usage(), { size: 6000, below: 3051 })
  const shown = "SELECT count(*) AS count FROM changes WHERE path = '/back' OR path LIKE '/back/%'"
  t.equal(index.connection.prepare(shown).get()?.count, 3051)
})

t.test('the entries of three former disks are remembered, and those of older ones are deleted', async (t) => {
  const index = openIndex(t)
  const fileOn = (disk: string) => {
    index.mount(disk)
    return index.reader.at('ada', '/file')
  }
  const disks = ['a', 'b', 'c', 'd', 'e']
  const written = disks.map((disk) => {
    index.mount(disk)
    const op = 'write'
    index.record([
      { op, path: '/file', size: 2, revision: disk },
      { op, path: '/folder/gone', size: 3, revision: disk },
      { op: 'delete', path: '/folder', keptAs: 'k1' },
    ])
    return fileOn(disk)
  })
  t.strictSame(
    written.map((file) => file?.revision),
    disks,
  )
  t.strictSame(disks.slice(1).map(fileOn), written.slice(1), 'each has the entries that it had')
  const count = (from: string) =>
    index.connection.prepare(`SELECT count(*) AS count FROM ${from}`).get()?.count
  t.equal(count('kept_entries'), 4)
  t.equal(count('entries WHERE tree NOT IN (SELECT id FROM trees)'), 0)
  t.equal(fileOn('a'), null)
  t.equal(index.reader.tree('ada', 'local'), null, 'it is compared anew')
  index.record([{ op: 'write', path: '/new', size: 1, revision: 'new' }])
  t.match(index.reader.tree('ada', 'local'), { isComplete: false })
  t.equal(fileOn('b'), null, 'each new disk takes the place of the oldest one')
  t.match(fileOn('e'), { id: written[4]?.id })
})

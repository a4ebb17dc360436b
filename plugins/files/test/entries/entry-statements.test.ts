import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
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
  const entries = new EntryStatements(connection, [['/', 'local']])
  const changes = new ChangeStatements(connection, entries)
  const group = new GroupCommit(connection, changes, entries, new RemovedEntries(connection))
  const total = () => Number(connection.prepare('SELECT total_changes() AS rows').get()?.rows)
  return {
    connection,
    file,
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
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant('write'), path, size: fc.nat(1000) }) },
  fc.record({ op: fc.constant('mkdir'), path }),
  fc.record({ op: fc.constant('delete'), path }),
  fc
    .record({ op: fc.constant('move'), source: path, path })
    .filter((of) => !`${of.path}/`.startsWith(`${of.source}/`) && !`${of.source}/`.startsWith(`${of.path}/`)),
)

t.test('the sums of folders are those of what is in them, whatever one transaction changes', async (t) => {
  const index = openIndex(t)
  const wrong = index.connection.prepare(
    `SELECT above.id FROM entries above WHERE type = 'directory' AND
     (size <> (SELECT total(size) FROM entries WHERE parent = above.id) OR
      below <> (SELECT total(1 + below) FROM entries WHERE parent = above.id))`,
  )
  const transaction = fc.array(change, { minLength: 1, maxLength: 20 })
  const isRight = fc.property(transaction, (changes) => {
    index.write(changes)
    return wrong.get() === undefined
  })
  const { counterexample } = fc.check(isRight, { numRuns: 300, seed: 43, endOnFailure: true })
  t.equal(counterexample, null)
})

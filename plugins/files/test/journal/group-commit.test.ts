import { test } from 'tap'
import { EntryStatements } from '../../src/entries/entry-statements.ts'
import { RemovedEntries } from '../../src/entries/removed-entries.ts'
import type { ChangeIntent } from '../../src/journal/change.ts'
import { ChangeStatements } from '../../src/journal/change-statements.ts'
import { GroupCommit } from '../../src/journal/group-commit.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'
import type { WriteRequest } from '../../src/journal/protocol.ts'

const userUuid = 'ada'

/** Files of the large folder. */
const many = 3000

const paths = (folder: string) =>
  Array.from({ length: many }, (_, index) => `${folder}/with/some/more/folders/${index % 30}/${index}`)

test('no transaction changes more than 1,000 rows, whatever a request takes with it', (t) => {
  const connection = openJournalFile(`${t.testdir()}/journal.sqlite`)
  t.teardown(() => connection.close())
  const entries = new EntryStatements(connection, [['/', 'local']])
  const changes = new ChangeStatements(connection, entries)
  const group = new GroupCommit(connection, changes, entries, new RemovedEntries(connection))
  const rows = () => Number(connection.prepare('SELECT total_changes() AS rows').get()?.rows)
  const count = () => Number(connection.prepare('SELECT count(*) AS count FROM entries').get()?.count)

  let most = 0
  let begun = 0
  const run = connection.exec.bind(connection)
  connection.exec = (statement) => {
    if (statement.startsWith('BEGIN')) begun = rows()
    if (statement === 'COMMIT') most = Math.max(most, rows() - begun)
    run(statement)
  }
  const write = (requests: readonly WriteRequest[]) => {
    const seqs: number[] = []
    for (let start = 0; start < requests.length; start += 100) {
      const batch = requests
        .slice(start, start + 100)
        .map((request, index) => ({ id: start + index, request }))
      seqs.push(...group.write(batch).map(({ seq }) => seq))
    }
    while (group.hasSteps) group.step()
    return seqs
  }
  const record = (intents: readonly Omit<ChangeIntent, 'userUuid'>[]) => {
    const begins = intents.map((intent) => ({ kind: 'begin', intent: { userUuid, ...intent } }) as const)
    write(write(begins).map((seq) => ({ kind: 'resolve', seq, outcome: 'commit' }) as const))
  }
  const files = (folder: string, staging: Pick<ChangeIntent, 'staging'> = {}) =>
    paths(folder).map((path) => ({ op: 'write', path, size: 1, revision: path, ...staging }) as const)
  const step = (what: string, work: () => void) => {
    most = 0
    work()
    t.ok(most > 0 && most <= 1000, `${what}: ${most} rows`)
  }

  step('writes', () => record(files('/a')))
  t.ok(count() > many)
  step('a move', () => record([{ op: 'move', source: '/a', path: '/b/c' }]))
  step('a copy', () => {
    record([{ op: 'mkdir', path: '/.moving-1', staging: 'begin' }])
    record(files('/.moving-1', { staging: 'fill' }))
  })
  step('a copy that replaces a folder', () =>
    record([{ op: 'move', source: '/.moving-1', path: '/b/c', staging: 'replace' }]),
  )
  step('a deletion', () => record([{ op: 'delete', path: '/b' }]))
  t.equal(count(), 1, 'the root is left')
  step('files that a comparison found', () => {
    const [tree = 0] = write([{ kind: 'tree', user: userUuid, storage: 'local' }])
    const file = { type: 'file', size: 1, revision: 'r', modified: 1, listed: null } as const
    const placed = paths('/found').map((path) => [path.slice(1).split('/'), file] as const)
    const puts = Array.from({ length: Math.ceil(many / 64) }, (_, index) => {
      const page = placed.slice(index * 64, index * 64 + 64)
      return { kind: 'put-entries', tree, entries: page } as const
    })
    write(puts)
  })
  t.ok(count() > many)
  step('an erasure', () => write([{ kind: 'erase', userUuid }]))
  t.equal(count(), 0)
  t.end()
})

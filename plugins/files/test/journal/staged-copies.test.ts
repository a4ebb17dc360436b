import type { FileChange } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import type { ChangeIntent } from '../../src/journal/change.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { temporaryJournal } from './fixtures/temporary-journal.ts'

const userUuid = 'ada'

const origin = {
  by: 'laptop',
  maker: { kind: 'token', id: 'id of the token', name: 'sync', user: userUuid },
  group: 'one',
} as const

async function record(journal: Journal, intent: Omit<ChangeIntent, 'userUuid'>): Promise<void> {
  await (await journal.begin({ userUuid, ...intent })).commit()
}

/** Stages a folder with a file and an inner folder. */
async function stage(journal: Journal, path: string): Promise<void> {
  await record(journal, { op: 'mkdir', path, staging: 'begin', ...origin })
  await record(journal, { op: 'mkdir', path: `${path}/inner`, staging: 'fill', ...origin })
  const file = { op: 'write', path: `${path}/inner/file`, size: 4, revision: 'r1' } as const
  await record(journal, { ...file, staging: 'fill', ...origin })
}

const facts = (changes: readonly FileChange[]) => changes.map(({ seq, id, at, ...rest }) => rest)

test('readers see a staged copy when it is placed, as changes at its destination', async (t) => {
  const journal = await temporaryJournal(t)
  await stage(journal, '/.moving-1')
  t.strictSame([await journal.head(userUuid), await journal.read(userUuid, 0)], [0, []])
  await record(journal, { op: 'mkdir', path: '/meanwhile' })
  const seen = await journal.head(userUuid)
  const place = { op: 'move', source: '/.moving-1', path: '/copy', staging: 'place', ...origin } as const
  const placing = await journal.begin({ userUuid, ...place })
  await record(journal, { op: 'mkdir', path: '/.moving-1-is-mine' })
  t.match(await journal.read(userUuid, seen), [{ path: '/.moving-1-is-mine' }], 'it holds nothing back')
  const later = await journal.head(userUuid)
  await placing.commit()
  t.strictSame(
    facts(await journal.read(userUuid, later)),
    [
      { op: 'mkdir', path: '/copy', ...origin },
      { op: 'mkdir', path: '/copy/inner', ...origin },
      { op: 'write', path: '/copy/inner/file', size: 4, revision: 'r1', ...origin },
    ],
    'a reader that is past the copying gets all of it',
  )
  t.strictSame(await journal.stagedMoves(), [])
  t.strictSame(await journal.pending(), [])
})

test('a copy that replaces a folder deletes it first', async (t) => {
  const journal = await temporaryJournal(t)
  await stage(journal, '/.moving-1')
  const place = { op: 'move', source: '/.moving-1', path: '/copy', staging: 'replace', ...origin } as const
  await record(journal, place)
  t.strictSame(facts(await journal.read(userUuid, 0)), [
    { op: 'delete', path: '/copy', ...origin },
    { op: 'mkdir', path: '/copy', ...origin },
    { op: 'mkdir', path: '/copy/inner', ...origin },
    { op: 'write', path: '/copy/inner/file', size: 4, revision: 'r1', ...origin },
  ])
})

test('readers see nothing of a copy that is abandoned or not placed', async (t) => {
  const journal = await temporaryJournal(t)
  await stage(journal, '/.moving-1')
  await stage(journal, '/.moving-2')
  const placing = { op: 'move', source: '/.moving-1', path: '/copy', staging: 'place' } as const
  await (await journal.begin({ userUuid, ...placing })).discard()
  await record(journal, { op: 'delete', path: '/.moving-1', staging: 'abandon' })
  t.strictSame(await journal.read(userUuid, 0), [])
  t.strictSame(await journal.stagedMoves(), [{ userUuid, path: '/.moving-2' }], 'only the other is left')
  await record(journal, { ...placing, source: '/.moving-2' })
  t.match(await journal.read(userUuid, 0), [{ path: '/copy' }, { path: '/copy/inner' }, {}])
})

test('a copy that is placed in a new epoch appears in it', async (t) => {
  const journal = await temporaryJournal(t)
  await record(journal, { op: 'mkdir', path: '/old' })
  await stage(journal, '/.moving-1')
  await journal.renew()
  t.strictSame(await journal.read(userUuid, 0), [])
  await record(journal, { op: 'move', source: '/.moving-1', path: '/copy', staging: 'place' })
  t.match(await journal.read(userUuid, 0), [{ path: '/copy' }, { path: '/copy/inner' }, {}])
  await journal.erase(userUuid)
  t.strictSame(await journal.read(userUuid, 0), [])
})

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EntryTree } from '../archive/entry-tree.ts'
import type { BackupEntry, BackupParticipant, BackupSnapshot } from '../contracts/backup.ts'
import type { PreparedSnapshot } from '../contracts/prepared-snapshot.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A plugin that is ready for one test, and its participant. */
export interface BackupSubject {
  /** The entry in `BackupParticipants`. After a restart, that of the new start. */
  readonly participant: BackupParticipant
  /**
   * Stores a content under a name, such as `note-1`, in the state that the participant has in backups. It replaces the content that
   * is there. While the participant stands still, it waits.
   */
  write(name: string, content: Uint8Array): Promise<void>
  /** Returns the content under a name; `null` if there is none. */
  read(name: string): Promise<Uint8Array | null>
  /** Stops the plugin and starts it again with its state. Without it, a test is skipped. */
  restart?(): Promise<void>
  close(): Promise<void>
}

/** The functions that the author of a participant passes to the suite. */
export interface BackupHarness {
  /** Prepares a plugin with an empty state. Called once for each test. */
  setUp(): Promise<BackupSubject>
  /**
   * Starts the plugin with an empty state as after a restore: with copies of the entries in this folder at the place to which a
   * restore brings them. `createTestNode` of `@nodekeep/kernel/testing` does so with `restored: { <participant>: folder }`.
   */
  restore(folder: string): Promise<BackupSubject>
}

const never = new AbortController().signal
const reason = new Error('The suite has aborted.')

/** Questions to the disk for whose time a part is watched that stands still. */
const watchedQuestions = 50

/**
 * Registers the tests that every participant of backups must pass. The suite does not depend on a test runner: it uses the given
 * function to register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * backupConformance(test, { setUp: () => subjectIn({}), restore: (folder) => subjectIn({ restored: { notes: folder } }) })
 */
export function backupConformance(test: ConformanceTest, harness: BackupHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

  check('what was stored comes back byte for byte', async (subject) => {
    for (const [name, content] of Object.entries(contents)) await write(subject, name, content)
    await using taken = await takenOf(subject)
    const { snapshot } = taken
    await using after = await restoredFrom(harness, snapshot)
    const restored = after.subject
    for (const [name, content] of Object.entries(contents)) await assertHolds(restored, name, content)
    assert.equal(await restored.read('never-stored'), null)
  })

  check('an empty state comes back empty, and can be used', async (subject) => {
    await using taken = await takenOf(subject)
    const { snapshot } = taken
    await using after = await restoredFrom(harness, snapshot)
    const restored = after.subject
    assert.equal(await restored.read('one'), null)
    await write(restored, 'one', bytesOf('new'))
    await assertHolds(restored, 'one', bytesOf('new'))
  })

  check('the entries of a snapshot can be stored in an archive', async (subject) => {
    for (const [name, content] of Object.entries(contents)) await write(subject, name, content)
    await using taken = await takenOf(subject)
    const { snapshot } = taken
    await snapshot.omitted()
    const tree = new EntryTree(Number.POSITIVE_INFINITY)
    const above = new Set<string>()
    for await (const entry of snapshot.entries()) {
      const { path, type, size, modified, created } = entry
      // It refuses what a reader of the archive refuses.
      tree.add(path, type)
      if (type === 'directory') assert.ok(!above.has(path), `the folder ${path} comes before what is in it`)
      for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) above.add(folder)
      const length = await lengthOf(entry)
      assert.equal(length, size, `${path} has exactly as many bytes as "size" says`)
      if (type === 'directory') assert.equal(size, 0, `the folder ${path} has no content`)
      assertDate(modified, `"modified" of ${path}`)
      if (created !== undefined) assertDate(created, `"created" of ${path}`)
    }
    assert.deepEqual(snapshot.changed, [], 'nothing but the suite has changed anything')
  })

  check('what is left out is told before the entries are read', async (subject) => {
    await write(subject, 'one', bytesOf('old'))
    await using taken = await takenOf(subject)
    const { snapshot } = taken
    for (const { what, why } of await snapshot.omitted()) {
      assert.ok(what !== '' && why !== '', 'a person learns what is left out, and why')
    }
  })

  check('a snapshot shows the moment, also when it is read later and again', async (subject) => {
    await write(subject, 'one', bytesOf('old'))
    const prepared = await subject.participant.prepare(never)
    await write(subject, 'late', bytesOf('after the preparation'))
    await using taken = await takenFrom(prepared)
    const { snapshot } = taken
    await write(subject, 'one', bytesOf('new, and longer than before'))
    await write(subject, 'after', bytesOf('after the moment'))
    const listed = await listOf(snapshot)
    for (const round of ['first', 'second']) {
      await using after = await restoredFrom(harness, snapshot)
      const restored = after.subject
      await assertHolds(restored, 'one', bytesOf('old'))
      await assertHolds(restored, 'late', bytesOf('after the preparation'))
      assert.equal(await restored.read('after'), null, `the ${round} reading has nothing of later`)
    }
    assert.deepEqual(await listOf(snapshot), listed, 'the entries have one order and one state')
    await assertHolds(subject, 'one', bytesOf('new, and longer than before'))
  })

  check('changes wait while the part stands still, and go on afterwards', async (subject) => {
    await write(subject, 'one', bytesOf('old'))
    const prepared = await subject.participant.prepare(never)
    let isWritten = false
    let writing: Promise<void> | undefined
    let snapshot: BackupSnapshot
    try {
      // It is disposed twice: the second time does nothing.
      await using halted = await soon(prepared.halt(), 'The part did not come to a halt.')
      writing = subject.write('one', bytesOf('new')).then(() => {
        isWritten = true
      })
      writing.catch(() => {})
      for (let asked = 0; asked < watchedQuestions; asked += 1) await stat(tmpdir())
      assert.equal(isWritten, false, 'a change was made while the part stood still')
      snapshot = await soon(halted.fix(), 'The state was not fixed.')
      assert.equal(isWritten, false, 'a change was made before the part may go on')
      await halted[Symbol.asyncDispose]()
    } finally {
      await released(prepared)
    }
    try {
      await soon(writing, 'A change did not go on after the halt.')
      await assertHolds(subject, 'one', bytesOf('new'))
      await using after = await restoredFrom(harness, snapshot)
      const restored = after.subject
      await assertHolds(restored, 'one', bytesOf('old'))
    } finally {
      await released(snapshot)
    }
  })

  check('a backup during changes shows one moment', async (subject) => {
    const end = new AbortController()
    for (const name of ['first', 'second']) await write(subject, name, bytesOf('0'))
    const writing = (async () => {
      // At each moment, the second number is that of the first one, or the one before.
      for (let count = 1; !end.signal.aborted; count += 1) {
        for (const name of ['first', 'second']) await write(subject, name, bytesOf(String(count)))
        await nextTurn()
      }
    })()
    writing.catch(() => {})
    try {
      for (let round = 0; round < 3; round += 1) {
        await using taken = await takenOf(subject)
        const { snapshot } = taken
        const folder = await unpacked(snapshot, nextTurn)
        await using after = await restoredIn(harness, folder)
        const [first, second] = [
          await numberOf(after.subject, 'first'),
          await numberOf(after.subject, 'second'),
        ]
        assert.ok(first === second || first === second + 1, `${first} and ${second} are not of one moment`)
      }
    } finally {
      end.abort()
      await writing
    }
  })

  check('a backup that is given up holds nothing up', async (subject) => {
    const unhalted = await subject.participant.prepare(never)
    await released(unhalted)
    await released(unhalted)
    await assertWorks(harness, subject, 'a preparation was given up')
    const prepared = await subject.participant.prepare(never)
    const halted = await soon(prepared.halt(), 'The part did not come to a halt.')
    await halted[Symbol.asyncDispose]()
    await released(prepared)
    await assertWorks(harness, subject, 'a halt was given up')
  })

  check('a snapshot that is not read to its end is released', async (subject) => {
    for (const name of ['one', 'two']) await write(subject, name, bytesOf(name))
    const { snapshot } = await takenOf(subject)
    for await (const entry of snapshot.entries()) {
      for await (const _ of entry.open()) break
      break
    }
    await released(snapshot)
    await assertWorks(harness, subject, 'a snapshot was not read to its end')
  })

  check('an aborted backup holds nothing up', async (subject) => {
    const before = subject.participant.prepare(AbortSignal.abort(reason))
    await soon(givenUp(before), 'A preparation with an aborted signal did not end.')
    await assertWorks(harness, subject, 'a preparation was aborted')
    const controller = new AbortController()
    const prepared = await subject.participant.prepare(controller.signal)
    controller.abort(reason)
    const halting = async () => (await prepared.halt())[Symbol.asyncDispose]()
    await soon(Promise.allSettled([halting()]), 'A halt with an aborted signal did not end.')
    await released(prepared)
    await assertWorks(harness, subject, 'a prepared backup was aborted')
  })

  check('a restore is applied once', async (subject, skip) => {
    await write(subject, 'one', bytesOf('of the backup'))
    await write(subject, 'two', bytesOf('two'))
    await using taken = await takenOf(subject)
    const { snapshot } = taken
    await using after = await restoredFrom(harness, snapshot)
    const restored = after.subject
    if (restored.restart === undefined) return skip('The harness has no "restart".')
    await write(restored, 'one', bytesOf('of later'))
    await restored.restart()
    await assertHolds(restored, 'one', bytesOf('of later'))
    await assertHolds(restored, 'two', bytesOf('two'))
    await using again = await takenOf(restored)
    await using second = await restoredFrom(harness, again.snapshot)
    await assertHolds(second.subject, 'one', bytesOf('of later'))
  })
}

/** Contents that need care: none, all values of a byte, ends of lines, and more than one chunk of a stream. */
const contents: Readonly<Record<string, Uint8Array>> = {
  one: bytesOf('Grüße\r\n\u0000'),
  'note-2': new Uint8Array(0),
  three: Uint8Array.from({ length: 256 }, (_, index) => index),
  'note-10': Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 251),
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function write(
  subject: BackupSubject,
  name: string,
  content: Uint8Array,
  after = 'nothing had happened',
): Promise<void> {
  return soon(subject.write(name, content), `A change did not end. Before it, ${after}.`)
}

async function numberOf(subject: BackupSubject, name: string): Promise<number> {
  return Number(new TextDecoder().decode((await subject.read(name)) ?? bytesOf('none')))
}

async function assertHolds(subject: BackupSubject, name: string, expected: Uint8Array): Promise<void> {
  const found = await subject.read(name)
  assert.ok(found !== null, `"${name}" is there`)
  assert.ok(Buffer.from(found).equals(expected), `"${name}" has the bytes that were stored`)
}

function assertDate(date: Date, what: string): void {
  assert.ok(date instanceof Date && !Number.isNaN(date.getTime()), `${what} is a date`)
}

interface Taken extends AsyncDisposable {
  readonly snapshot: BackupSnapshot
}

/** Takes a snapshot as a backup does. */
async function takenOf({ participant }: BackupSubject): Promise<Taken> {
  return takenFrom(await soon(participant.prepare(never), 'A preparation did not end.'))
}

async function takenFrom(prepared: PreparedSnapshot<BackupSnapshot>): Promise<Taken> {
  try {
    await using halted = await soon(prepared.halt(), 'The part did not come to a halt.')
    const snapshot = await soon(halted.fix(), 'The state was not fixed.')
    return { snapshot, [Symbol.asyncDispose]: () => released(snapshot) }
  } finally {
    await released(prepared)
  }
}

function released(held: { release(): Promise<void> }): Promise<void> {
  return soon(held.release(), 'A release did not end.')
}

/** Gives up a preparation that succeeds. */
async function givenUp(preparing: Promise<PreparedSnapshot<BackupSnapshot>>): Promise<void> {
  const prepared = await preparing.catch(() => null)
  if (prepared !== null) await released(prepared)
}

/** Changes go on, and the next backup has them. */
async function assertWorks(harness: BackupHarness, subject: BackupSubject, after: string): Promise<void> {
  await write(subject, 'one', bytesOf(after), after)
  await using taken = await takenOf(subject)
  const { snapshot } = taken
  await using restored = await restoredFrom(harness, snapshot)
  await assertHolds(restored.subject, 'one', bytesOf(after))
}

async function listOf(snapshot: BackupSnapshot): Promise<object[]> {
  const list: object[] = []
  for await (const entry of snapshot.entries()) {
    const { path, type, size, modified } = entry
    list.push({ path, type, size, modified })
  }
  return list
}

async function lengthOf(entry: BackupEntry): Promise<number> {
  let length = 0
  for await (const chunk of entry.open()) length += chunk.length
  return length
}

async function restoredFrom(harness: BackupHarness, snapshot: BackupSnapshot) {
  return restoredIn(harness, await unpacked(snapshot))
}

/** Restores the entries in a folder, and removes the folder. */
async function restoredIn(
  harness: BackupHarness,
  folder: string,
): Promise<AsyncDisposable & { readonly subject: BackupSubject }> {
  try {
    const subject = await harness.restore(folder)
    return { subject, [Symbol.asyncDispose]: () => subject.close() }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Writes the entries of a snapshot into a new folder. */
async function unpacked(
  snapshot: BackupSnapshot,
  betweenEntries: () => Promise<unknown> = async () => {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-entries-'))
  await snapshot.omitted()
  for await (const entry of snapshot.entries()) {
    const path = join(folder, entry.path)
    await mkdir(entry.type === 'file' ? dirname(path) : path, { recursive: true })
    if (entry.type === 'file') {
      await writeFile(path, entry.open())
      await utimes(path, entry.modified, entry.modified)
    }
    await betweenEntries()
  }
  return folder
}

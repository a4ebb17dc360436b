import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { ChangeLog, FileChange } from '@nodekeep/plugin-sdk'
import type { CreatedDate, DatedFile } from '../entries/created-date.ts'
import type { EntryReader } from '../entries/entry-reader.ts'
import type { ChangeFacts, RestoredDate, RestoredKept } from '../entries/entry-statements.ts'
import type { IndexedMounts } from '../entries/entry-tables.ts'
import type { KeptReader } from '../entries/kept-reader.ts'
import type { ChangedPaths, ChangeIntent, PendingIntent, RecordedChange } from './change.ts'
import { JournalReader } from './journal-reader.ts'
import { JournalSnapshot } from './journal-snapshot.ts'
import { JournalWriter } from './journal-writer.ts'
import type { IndexRequest } from './protocol.ts'

/**
 * An intent that survives a crash. Readers get no later change of the user before its outcome is known.
 *
 * The outcome takes effect at the call: readers wait until it is written. A change itself need not wait, since after a
 * crash the storage shows the outcome.
 */
export interface PendingChange {
  readonly seq: number
  /** Records that the change happened. */
  commit(facts?: ChangeFacts): Promise<void>
  /** Records that the change did not happen. */
  discard(): Promise<void>
}

/**
 * The change log, and the way to write it: `begin` before the backend's atomic step, `commit` after it. An intent that a
 * crash leaves without an outcome is `pending` at the next start, which asks the backend whether the change happened.
 *
 * Calls reject with NodekeepError INSUFFICIENT_STORAGE when the disk is full, and SERVICE_UNAVAILABLE when the
 * journal is closed or cannot be written.
 */
export interface Journal extends Pick<ChangeLog, 'epoch' | 'retainFrom'> {
  /** The number of a user's newest change that readers see; 0 when there is none. */
  head(userUuid: string): Promise<number>
  /**
   * Lists the changes of a user after a number, oldest first.
   *
   * @param limit maximum number of changes; default: 1,000
   * @throws NodekeepError CONFLICT if changes after the number are already deleted, or if the number is above the head
   */
  read(userUuid: string, after: number, limit?: number): Promise<FileChange[]>
  /**
   * The newest changes of a file, or of a folder and what is in it, newest first, among the user's newest 10,000. Readers see them
   * already.
   */
  newest(userUuid: string, path: string, limit: number): Promise<FileChange[]>
  /** A user's changes of a group, newest first, also those that readers do not see yet. */
  inGroup(userUuid: string, group: string, limit: number): Promise<RecordedChange[]>
  /** A user's changes after a number, oldest first, also those that readers do not see yet. */
  since(userUuid: string, seq: number, limit: number): Promise<RecordedChange[]>
  /** The id of a change of a user that readers have, or may have had; empty for 0. `null` if no such change has the number. */
  idOf(userUuid: string, seq: number): string | null
  /** Gives the change its number. The intent is on the disk when this resolves. */
  begin(intent: ChangeIntent): Promise<PendingChange>
  /**
   * Adds changes that have happened already. They are on the disk when this resolves.
   *
   * @returns the number of the last one
   */
  add(changes: readonly ChangeIntent[]): Promise<number>
  /**
   * Records that the changes of a group have taken back all changes of another one.
   *
   * @param undoes the number of the newest one of those
   */
  markUndo(userUuid: string, group: string, undoes: number): Promise<void>
  /** The paths of a user's changes without an outcome. */
  pendingPaths(userUuid: string): Promise<readonly ChangedPaths[]>
  /** The intents of all users without an outcome, oldest first. Intents of running changes are included. */
  pending(): Promise<PendingIntent[]>
  /** Records the outcome of an intent. Does nothing when it has one already, or when its user was erased. */
  resolve(seq: number, outcome: 'commit' | 'discard', facts?: ChangeFacts): Promise<void>
  /** Reads the index of all entries. Each outcome of a user's changes that was recorded before is in it. */
  entriesOf(userUuid: string): Promise<EntryReader>
  /** Reads what is kept of deleted and replaced files. Each outcome of a user's changes that was recorded before is in it. */
  keptOf(userUuid: string): Promise<KeptReader>
  /** Changes the index where no change of the journal does. Returns the id of a `tree`. */
  index(request: IndexRequest): Promise<number>
  /** When a file was created that was overwritten or restored since; `null` where the backend's own date is right. */
  createdOf(userUuid: string, path: string, file: DatedFile): Promise<Date | null>
  /** Such dates for all entries of a folder, by name; `null` for more than `most`. `createdIf` tells whether a date is valid for a file. */
  createdIn(userUuid: string, folder: string, most: number): Promise<ReadonlyMap<string, CreatedDate> | null>
  /** The paths of staged copies that were neither placed nor abandoned. */
  stagedMoves(): Promise<readonly { readonly userUuid: string; readonly path: string }[]>
  /**
   * Deletes everything about a user, down to the free pages of the file. While a snapshot of the file is held, the free pages
   * wait for its end.
   */
  erase(userUuid: string): Promise<void>
  /** Remembers when restored files were created. */
  restoreCreated(dates: readonly RestoredDate[]): Promise<void>
  /** Takes note of what restored kept files are. */
  restoreKept(items: readonly RestoredKept[]): Promise<void>
  /** Opens a snapshot of the journal, whose state the caller fixes. Close it. */
  openSnapshot(): JournalSnapshot
  /** Begins a new epoch, in which no change has happened yet. */
  renew(): Promise<void>
  /** Deletes old changes, in the background, now and every hour. */
  prune(): void
  /** Rejects when the journal cannot be written. */
  probe(): Promise<void>
  /** Waits for running calls, then closes the file. */
  close(): Promise<void>
}

export interface JournalOptions {
  /** Days after which changes are deleted; 90 when not given. */
  readonly keepDays?: number
  /** Newest changes of each user that are kept whatever their age; 10,000 when not given, at least 1. */
  readonly keepNewest?: number
  /** Paths and names of storages; `local` at `/` when not given. */
  readonly mounts?: Readonly<Record<string, string>>
}

/**
 * Opens a journal, or makes it. Only one process may have it open. A thread of its own writes, so syncs of the disk stop
 * nobody. Concurrent calls share one sync.
 *
 * @param file a path that no other part of the process opens
 * @throws Error with one line for a person when the file is damaged, in use, unwritable, or of a newer version
 */
export async function openJournal(file: string, options: JournalOptions = {}): Promise<Journal> {
  const { keepDays = 90, keepNewest = 10_000, mounts = { '/': 'local' } } = options
  const sorted = Object.entries(mounts).toSorted(([a], [b]) => b.length - a.length)
  const retained = { keepDays, keepNewest: Math.max(1, keepNewest) }
  const writer = await JournalWriter.start({ file, mounts: sorted, ...retained })
  return new OpenJournal(file, sorted, await openReader(file, sorted, writer), writer)
}

async function openReader(
  file: string,
  mounts: IndexedMounts,
  writer: JournalWriter,
): Promise<JournalReader> {
  try {
    return new JournalReader(file, mounts)
  } catch (error) {
    await writer.close()
    throw error
  }
}

class OpenJournal implements Journal {
  #epoch: string
  readonly #file: string
  readonly #mounts: IndexedMounts
  readonly #reader: JournalReader
  readonly #writer: JournalWriter
  /** The outcomes of each user that are on their way to the disk. No `Map`: MEMORY.md, "Tables". */
  readonly #unwritten: Record<string, Promise<unknown>> = Object.create(null)

  constructor(file: string, mounts: IndexedMounts, reader: JournalReader, writer: JournalWriter) {
    this.#file = file
    this.#mounts = mounts
    this.#epoch = reader.epoch()
    this.#reader = reader
    this.#writer = writer
  }

  get epoch(): string {
    return this.#epoch
  }

  async head(userUuid: string): Promise<number> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.head(userUuid)
  }

  async read(userUuid: string, after: number, limit = 1000): Promise<FileChange[]> {
    await this.#outcomesWritten(userUuid)
    const changes = this.#reader.read(userUuid, after, limit)
    // Reading is synchronous. A caller that reads many pages must not hold up the event loop.
    await setImmediate()
    return changes
  }

  async newest(userUuid: string, path: string, limit: number): Promise<FileChange[]> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.newest(userUuid, path, limit)
  }

  async inGroup(userUuid: string, group: string, limit: number): Promise<RecordedChange[]> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.inGroup(userUuid, group, limit)
  }

  async since(userUuid: string, seq: number, limit: number): Promise<RecordedChange[]> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.since(userUuid, seq, limit)
  }

  idOf(userUuid: string, seq: number): string | null {
    return this.#reader.idOf(userUuid, seq)
  }

  async begin(intent: ChangeIntent): Promise<PendingChange> {
    const { userUuid } = intent
    const seq = await this.#writer.call({ kind: 'begin', intent })
    return {
      seq,
      commit: (facts) => this.#record(userUuid, seq, 'commit', facts),
      discard: () => this.#record(userUuid, seq, 'discard'),
    }
  }

  add(changes: readonly ChangeIntent[]): Promise<number> {
    return this.#writer.call({ kind: 'add', changes })
  }

  async markUndo(userUuid: string, group: string, undoes: number): Promise<void> {
    await this.#writer.call({ kind: 'mark-undo', userUuid, group, undoes })
  }

  async pendingPaths(userUuid: string): Promise<readonly ChangedPaths[]> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.pendingPaths(userUuid)
  }

  async pending(): Promise<PendingIntent[]> {
    return this.#reader.pending()
  }

  async resolve(seq: number, outcome: 'commit' | 'discard', facts?: ChangeFacts): Promise<void> {
    await this.#writer.call({ kind: 'resolve', seq, outcome, ...(facts && { facts }) })
  }

  async entriesOf(userUuid: string): Promise<EntryReader> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.entries
  }

  async keptOf(userUuid: string): Promise<KeptReader> {
    await this.#outcomesWritten(userUuid)
    return this.#reader.kept
  }

  index(request: IndexRequest): Promise<number> {
    return this.#writer.call(request)
  }

  async createdOf(userUuid: string, path: string, file: DatedFile): Promise<Date | null> {
    return (await this.entriesOf(userUuid)).createdOf(userUuid, path, file)
  }

  async createdIn(
    userUuid: string,
    folder: string,
    most: number,
  ): Promise<ReadonlyMap<string, CreatedDate> | null> {
    return (await this.entriesOf(userUuid)).createdIn(userUuid, folder, most)
  }

  async stagedMoves(): Promise<readonly { readonly userUuid: string; readonly path: string }[]> {
    return this.#reader.stagedMoves()
  }

  async erase(userUuid: string): Promise<void> {
    await this.#writer.call({ kind: 'erase', userUuid })
  }

  async retainFrom(userUuid: string, reader: string, after: number | null): Promise<void> {
    await this.#writer.call({ kind: 'keep', userUuid, reader, after })
  }

  async restoreCreated(dates: readonly RestoredDate[]): Promise<void> {
    await this.#writer.call({ kind: 'restore-created', dates })
  }

  async restoreKept(items: readonly RestoredKept[]): Promise<void> {
    await this.#writer.call({ kind: 'restore-kept', items })
  }

  openSnapshot(): JournalSnapshot {
    return new JournalSnapshot(this.#file, this.#mounts)
  }

  async renew(): Promise<void> {
    const epoch = randomUUID()
    await this.#writer.call({ kind: 'renew', epoch })
    this.#epoch = epoch
  }

  prune(): void {
    this.#writer.prune()
  }

  async probe(): Promise<void> {
    await this.#writer.call({ kind: 'probe' })
  }

  async close(): Promise<void> {
    this.#reader.close()
    await this.#writer.close()
  }

  #record(userUuid: string, seq: number, outcome: 'commit' | 'discard', facts?: ChangeFacts): Promise<void> {
    const written = this.resolve(seq, outcome, facts)
    const before = this.#unwritten[userUuid]
    const all = before === undefined ? written : Promise.allSettled([before, written])
    const forget = () => {
      if (this.#unwritten[userUuid] === all) delete this.#unwritten[userUuid]
    }
    all.then(forget, forget)
    this.#unwritten[userUuid] = all
    return written
  }

  /** Waits until a reader sees the outcomes of a user that were recorded before. */
  async #outcomesWritten(userUuid: string): Promise<void> {
    await this.#unwritten[userUuid]?.catch(() => {})
  }
}

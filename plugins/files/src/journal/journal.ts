import { setImmediate } from 'node:timers/promises'
import type { ChangeLog, FileChange } from '@nodekeep/plugin-sdk'
import { Ends } from './ends.ts'
import { JournalReader } from './journal-reader.ts'
import { JournalWriter } from './journal-writer.ts'
import { RememberedDates } from './remembered-dates.ts'

/** A change that is about to happen. */
export interface ChangeIntent {
  readonly userUuid: string
  readonly op: FileChange['op']
  /** Absolute path within the user's files; for `move` the new one. */
  readonly path: string
  /** The former path of a `move`. */
  readonly source?: string
  /** Bytes. */
  readonly size?: number
  /** The revision that the change makes; for a `move` of a file, the one that it keeps. */
  readonly revision?: string
  /** Which device or client makes the change. */
  readonly by?: string
  /** When the file that this change replaces was created: its successor keeps the date. Needs `revision`. */
  readonly created?: Date
  /** Bytes that no path of the user exceeds after a `move` of a folder, which moves other paths than its own. */
  readonly longest?: number
  /** Whether `path` is a copy that a move across mounts begins, and that is of no use when it doesn't come to its end. */
  readonly isStopover?: boolean
}

/**
 * An intent that survives a crash from now on. Readers wait for its end before they get any later change. Ends can be
 * read from the call on: who reads waits for them, so that who makes changes need not.
 */
export interface PendingChange {
  readonly seq: number
  /** Says that the change happened. */
  commit(): Promise<void>
  /** Says that it did not. */
  discard(): Promise<void>
}

/** When a file was created, as far as its backend cannot know it. */
export interface CreatedDate {
  readonly revision: string
  readonly created: Date
}

/**
 * The change log, and the way into it: `begin` before the backend's atomic step, `commit` after it. What a crash
 * leaves in between is `pending` at the next start, where the backend knows what became of it.
 *
 * Calls reject with NodekeepError INSUFFICIENT_STORAGE when the disk is full, and SERVICE_UNAVAILABLE when the
 * journal is closed or cannot be written.
 */
export interface Journal extends ChangeLog {
  /** Gives the change its number. The intent is on the disk when this resolves. */
  begin(intent: ChangeIntent): Promise<PendingChange>
  /** The intents of all users without an end, oldest first. Those of running changes are among them. */
  pending(): Promise<(ChangeIntent & { readonly seq: number })[]>
  /** Ends an intent. One that has its end already, or whose user was erased, stays as it is. */
  resolve(seq: number, outcome: 'commit' | 'discard'): Promise<void>
  /** When a file was created that was overwritten since; `null` where the backend's own date is right. */
  createdOf(userUuid: string, path: string, revision: string): Promise<Date | null>
  /** The same for all entries of a folder, by name. They hold for files with the same revision only. */
  createdIn(userUuid: string, folder: string): Promise<ReadonlyMap<string, CreatedDate>>
  /** Bytes that no path exceeds which changes ever gave to something of a user. */
  longestOf(userUuid: string): Promise<number>
  /** The copies of moves across mounts that were begun, and neither got their name nor were removed. */
  stopovers(): Promise<readonly { readonly userUuid: string; readonly path: string }[]>
  /** Forgets everything about a user, down to the free pages of the file. */
  erase(userUuid: string): Promise<void>
  /** Rejects when the journal cannot be written. */
  probe(): Promise<void>
  /** Waits for what was called, then closes the file. */
  close(): Promise<void>
}

export interface JournalOptions {
  /** Days after which changes are forgotten; 90 when not given. */
  readonly keepDays?: number
  /** As many of the newest changes of each user are kept whatever their age; 10,000 when not given, at least 1. */
  readonly keepNewest?: number
}

/**
 * Opens a journal, or makes it. Only one process may have it open. Writing happens in a thread of its own, where
 * syncing to the disk stops nobody; concurrent calls share one sync.
 *
 * @param file a path that no other part of the process opens
 * @throws Error with one line for a person when the file is damaged, in use, unwritable, or of a newer version
 */
export async function openJournal(file: string, options: JournalOptions = {}): Promise<Journal> {
  const { keepDays = 90, keepNewest = 10_000 } = options
  const writer = await JournalWriter.start({ file, keepDays, keepNewest: Math.max(1, keepNewest) })
  const reader = await openReader(file, writer)

  const dates = new RememberedDates(reader)
  const forget = () => dates.forget()

  const ends = new Ends((request) => writer.call(request).finally(forget))

  return {
    epoch: reader.epoch(),
    async head(userUuid) {
      await ends.readable(userUuid)
      return reader.head(userUuid)
    },
    async read(userUuid, after, limit = 1000) {
      await ends.readable(userUuid)
      const changes = reader.read(userUuid, after, limit)
      // Reading is synchronous: who goes through many pages lets others have their turn in between.
      await setImmediate()
      return changes
    },
    pending: async () => reader.pending(),
    async createdOf(userUuid, path, revision) {
      const open = ends.readable(userUuid)
      if (open !== null) await open
      return dates.of(userUuid, path, revision)
    },
    async createdIn(userUuid, folder) {
      await ends.readable(userUuid)
      return reader.createdIn(userUuid, folder)
    },
    stopovers: async () => reader.stopovers(),
    longestOf: async (userUuid) => reader.longestOf(userUuid),
    async resolve(seq, outcome) {
      await writer.call({ kind: 'resolve', seq, outcome }).finally(forget)
    },
    async begin(intent) {
      ends.send()
      const seq = await writer.call({ kind: 'begin', intent })
      const end = (outcome: 'commit' | 'discard') => ends.add(intent.userUuid, seq, outcome)
      return { seq, commit: () => end('commit'), discard: () => end('discard') }
    },
    async erase(userUuid) {
      await writer.call({ kind: 'erase', userUuid }).finally(forget)
    },
    async probe() {
      await writer.call({ kind: 'probe' })
    },
    async close() {
      forget()
      ends.send()
      reader.close()
      await writer.close()
    },
  }
}

async function openReader(file: string, writer: JournalWriter): Promise<JournalReader> {
  try {
    return new JournalReader(file)
  } catch (error) {
    await writer.close()
    throw error
  }
}

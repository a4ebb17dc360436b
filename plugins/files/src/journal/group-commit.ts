import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { EntryStatements } from '../entries/entry-statements.ts'
import type { RemovedEntries } from '../entries/removed-entries.ts'
import type { ChangeStatements } from './change-statements.ts'
import type { NumberedRequest, WriteAnswer, WriteFailure, WriteRequest } from './protocol.ts'

/** Milliseconds in which the node's own readers of the journal end. */
const longestReadMs = 100

/** Changed rows after which a transaction takes no more requests. */
const manyRows = 300

/** Removed entries that are deleted in one step. */
const sweptRows = 300

/** Requests without which a resolved promise of the journal would be broken. */
const durable: ReadonlySet<WriteRequest['kind']> = new Set([
  'begin',
  'add',
  'renew',
  'restore-created',
  'restore-kept',
  'keep',
  'probe',
])

/** The number of a request whose answer nobody awaits. */
const nobody = 0

/** Takes note of what has happened on a storage. */
type Outcome = Extract<WriteRequest, { kind: 'resolve' | 'forget-kept' }>

/** A request that may change any number of rows. It takes steps, and other requests come between them. */
interface LongRequest {
  readonly id: number
  readonly request: WriteRequest
  /** Returns whether it was the last step. */
  step(): boolean
}

/** Writes the requests that arrived together in one transaction, with one sync of the disk. */
export class GroupCommit {
  readonly #connection: DatabaseSync
  readonly #changes: ChangeStatements
  readonly #entries: EntryStatements
  readonly #removed: RemovedEntries
  readonly #totalChanges: StatementSync
  /** Outcomes that the disk did not take yet. Nothing is lost: intents are on the disk, and purges find again what is gone. */
  #unwritten: Outcome[] = []
  #long: LongRequest[] = []
  /** Whether entries may be left that belong to removed folders. */
  #mayHaveRemoved = true
  /** Whether the file or its log may still have rows of erased users. */
  #hasTraces = false

  constructor(
    connection: DatabaseSync,
    changes: ChangeStatements,
    entries: EntryStatements,
    removed: RemovedEntries,
  ) {
    this.#connection = connection
    this.#changes = changes
    this.#entries = entries
    this.#removed = removed
    this.#totalChanges = connection.prepare('SELECT total_changes() AS rows')
  }

  /** Whether requests wait for their last step. */
  get hasLongRequests(): boolean {
    return this.#long.length > 0
  }

  /** Whether {@link step} has something to do. */
  get hasSteps(): boolean {
    return this.#long.length > 0 || this.#mayHaveRemoved
  }

  /** Whether outcomes of changes are still to be written. */
  get hasUnwritten(): boolean {
    return this.#unwritten.length > 0
  }

  /** Whether `removeTraces` has to be called again. */
  get hasTraces(): boolean {
    return this.#hasTraces
  }

  /**
   * Takes rows of erased users out of the free pages and the write-ahead log. Somebody who reads an earlier state, such as a
   * snapshot, prevents it, and so does a disk that fails.
   *
   * @param waitMs milliseconds for which writers wait for readers
   */
  removeTraces(waitMs = 0): void {
    const timeout = Number(this.#connection.prepare('PRAGMA busy_timeout').get()?.timeout)
    this.#connection.exec(`PRAGMA busy_timeout = ${waitMs}`)
    try {
      this.#hasTraces = this.#connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0
    } catch {
      this.#hasTraces = true
    } finally {
      this.#connection.exec(`PRAGMA busy_timeout = ${timeout}`)
    }
  }

  write(batch: readonly NumberedRequest[]): WriteAnswer[] {
    this.#unwritten = this.#unwritten.filter((request) => !this.#takeLong({ id: nobody, request }))
    const short = batch.filter((request) => !this.#takeLong(request))
    return short.length > 0 || this.hasUnwritten ? this.#writeShort(short) : []
  }

  /** Makes a step of a long request, or else deletes entries that belong to removed folders. */
  step(): WriteAnswer[] {
    const [request] = this.#long
    if (request === undefined) {
      this.#sweep()
      return []
    }
    const { id } = request
    try {
      const isLast = this.#transaction(request.request.kind === 'erase', () => request.step())
      if (!isLast) return []
      this.#long.shift()
      if (request.request.kind === 'erase') this.removeTraces(longestReadMs)
      return [{ id, seq: 0 }]
    } catch (error) {
      this.#long.shift()
      return [this.#failed(id, request.request, error)]
    }
  }

  /** Takes requests that change any number of rows, and says whether it was one. */
  #takeLong({ id, request }: NumberedRequest): boolean {
    const [changes, entries] = [this.#changes, this.#entries]
    if (request.kind === 'erase') {
      const { userUuid } = request
      this.#long.push({ id, request, step: () => entries.erase(userUuid) && changes.erase(userUuid) })
      return true
    }
    if (request.kind !== 'resolve' || request.outcome === 'discard') return false
    const step = changes.stepsOf(request.seq)
    if (step !== null) this.#long.push({ id, request, step })
    return step !== null
  }

  #sweep(): void {
    try {
      this.#mayHaveRemoved =
        this.#removed.isAny() && this.#transaction(false, () => this.#removed.step(sweptRows))
    } catch {
      // The disk failed. The next change tries again.
      this.#mayHaveRemoved = false
    }
  }

  #writeShort(batch: readonly NumberedRequest[]): WriteAnswer[] {
    // The storage shows again all that a power cut takes from these: the next start asks it for outcomes, and compares entries.
    const isDurable = batch.some(({ request }) => durable.has(request.kind))
    try {
      const answers = this.#transaction(isDurable, () => {
        for (const request of this.#unwritten) this.#apply(request)
        const written: WriteAnswer[] = []
        const before = this.#changedRows()
        for (const { id, request } of batch) {
          if (this.#changedRows() - before > manyRows) break
          written.push({ id, seq: this.#apply(request) })
        }
        return written
      })
      this.#unwritten = []
      this.#mayHaveRemoved = true
      const left = batch.slice(answers.length)
      return left.length > 0 ? [...answers, ...this.#writeShort(left)] : answers
    } catch (error) {
      // One request may be at fault: alone, the others succeed.
      if (batch.length > 1) return batch.flatMap((request) => this.#writeShort([request]))
      return batch.map(({ id, request }) => this.#failed(id, request, error))
    }
  }

  #transaction<T>(isDurable: boolean, work: () => T): T {
    const isSynced = isDurable || this.#entries.mustSync
    this.#connection.exec(`PRAGMA synchronous = ${isSynced ? 'FULL' : 'NORMAL'}`)
    const result = inTransaction(this.#connection, () => {
      this.#entries.begin()
      const result = work()
      this.#entries.end()
      return result
    })
    this.#entries.written()
    return result
  }

  #changedRows(): number {
    return Number(this.#totalChanges.get()?.rows)
  }

  #apply(request: WriteRequest): number {
    const [changes, entries] = [this.#changes, this.#entries]
    switch (request.kind) {
      case 'begin':
        return changes.begin(request.intent)
      case 'add':
        return changes.add(request.changes)
      case 'tree':
        return entries.treeOf(request.user, request.storage).id
      case 'resolve':
        changes.resolve(request.seq, request.outcome, request.facts)
        break
      case 'mark-undo':
        changes.markUndo(request.userUuid, request.group, request.undoes)
        break
      case 'renew':
        changes.renew(request.epoch)
        break
      case 'restore-created':
        entries.restore(request.dates)
        break
      case 'restore-kept':
        entries.restoreKeptFacts(request.items)
        break
      case 'keep':
        changes.retainFrom(request.userUuid, request.reader, request.after)
        break
      case 'set-storage':
        entries.setStorage(request.name, request.storageId)
        break
      case 'put-entries':
        entries.put(request.tree, request.entries)
        break
      case 'put-kept':
        entries.putKept(request.tree, request.entries)
        break
      case 'pass-versions':
        entries.passVersions(request.user, request.from, request.to)
        break
      case 'forget-kept':
        entries.forgetKept(request.number)
        break
      case 'put-listed':
        entries.putListed(request.files)
        break
      case 'put-sha256':
        entries.putSha256(request)
        break
      case 'complete':
        entries.complete(request.tree, request.at)
    }
    return 0
  }

  /** An outcome never fails: the storage shows it already. */
  #failed(id: number, request: WriteRequest, error: unknown): WriteAnswer {
    if (request.kind !== 'resolve' && request.kind !== 'forget-kept')
      return { id, seq: 0, failure: failureOf(error) }
    this.#unwritten.push(request)
    return { id, seq: 0 }
  }
}

function failureOf(error: unknown): WriteFailure {
  return { code: isDiskFull(error) ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE', reason: String(error) }
}

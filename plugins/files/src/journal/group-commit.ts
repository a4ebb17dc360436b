import type { DatabaseSync } from 'node:sqlite'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { ChangeStatements } from './change-statements.ts'
import type { NumberedRequest, WriteAnswer, WriteFailure, WriteRequest } from './protocol.ts'

/** Milliseconds in which the node's own readers of the journal end. */
const longestReadMs = 100

type Resolution = Extract<WriteRequest, { kind: 'resolve' }>

/** Writes the requests that arrived together in one transaction, with one sync of the disk. */
export class GroupCommit {
  readonly #connection: DatabaseSync
  readonly #changes: ChangeStatements
  /** Outcomes that the disk did not take yet. Their intents are on the disk, so nothing is lost. */
  #unwritten: Resolution[] = []
  /** Whether the file or its log may still have rows of erased users. */
  #hasTraces = false

  constructor(connection: DatabaseSync, changes: ChangeStatements) {
    this.#connection = connection
    this.#changes = changes
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
    try {
      const answers = this.#transaction(batch)
      return batch.some(isErasure) ? this.#compact(batch, answers) : answers
    } catch (error) {
      // One request may be at fault: alone, the others succeed.
      if (batch.length > 1) return batch.flatMap((request) => this.write([request]))
      return batch.map(({ id, request }) => this.#failed(id, request, error))
    }
  }

  #transaction(batch: readonly NumberedRequest[]): WriteAnswer[] {
    // The outcome of a change may get lost in a power cut: the next start asks the backend for it.
    const durable = batch.some(({ request }) => request.kind !== 'resolve')
    this.#connection.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
    this.#connection.exec('BEGIN IMMEDIATE')
    try {
      for (const { seq, outcome } of this.#unwritten) this.#changes.resolve(seq, outcome)
      const answers = batch.map(({ id, request }) => ({ id, seq: this.#apply(request) }))
      this.#connection.exec('COMMIT')
      this.#unwritten = []
      return answers
    } catch (error) {
      // SQLite rolls back by itself after some failures, such as a full disk.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
      throw error
    }
  }

  /**
   * Deleted rows can still be read in free pages and in the write-ahead log, so an erasure rewrites the file. If that fails,
   * the erasure can be requested again. Traces that a reader holds are removed when it has ended.
   */
  #compact(batch: readonly NumberedRequest[], answers: WriteAnswer[]): WriteAnswer[] {
    try {
      this.#connection.exec('VACUUM')
      this.removeTraces(longestReadMs)
      return answers
    } catch (error) {
      const erasures = new Set(batch.filter(isErasure).map(({ id }) => id))
      const failure = failureOf(error)
      return answers.map((answer) => (erasures.has(answer.id) ? { ...answer, failure } : answer))
    }
  }

  #apply(request: WriteRequest): number {
    if (request.kind === 'begin') return this.#changes.begin(request.intent)
    if (request.kind === 'add') return this.#changes.add(request.changes)
    if (request.kind === 'resolve') this.#changes.resolve(request.seq, request.outcome)
    if (request.kind === 'erase') this.#changes.erase(request.userUuid)
    if (request.kind === 'renew') this.#changes.renew(request.epoch)
    if (request.kind === 'restore-created') this.#changes.restoreCreated(request.dates)
    if (request.kind === 'keep') this.#changes.retainFrom(request.userUuid, request.reader, request.after)
    return 0
  }

  /** An outcome never fails: the change happened, and its intent is kept. */
  #failed(id: number, request: WriteRequest, error: unknown): WriteAnswer {
    if (request.kind !== 'resolve') return { id, seq: 0, failure: failureOf(error) }
    this.#unwritten.push(request)
    return { id, seq: 0 }
  }
}

function isErasure({ request }: NumberedRequest): boolean {
  return request.kind === 'erase'
}

function failureOf(error: unknown): WriteFailure {
  return { code: isDiskFull(error) ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE', reason: String(error) }
}

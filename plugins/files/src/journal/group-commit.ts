import type { DatabaseSync } from 'node:sqlite'
import type { Ballast } from './ballast.ts'
import { isDiskFull } from './full-disk.ts'
import type { Ledger } from './ledger.ts'
import type { NumberedRequest, WriteAnswer, WriteFailure, WriteRequest } from './protocol.ts'

type Resolution = Extract<WriteRequest, { kind: 'resolve' }>

/** Writes the requests that came together in one transaction, with one sync of the disk. */
export class GroupCommit {
  readonly #connection: DatabaseSync
  readonly #ledger: Ledger
  readonly #ballast: Ballast
  /** Ends of changes that could not be written yet. Their intents are on the disk, so that nothing is lost. */
  #owed: Resolution[] = []

  constructor(connection: DatabaseSync, ledger: Ledger, ballast: Ballast) {
    this.#connection = connection
    this.#ledger = ledger
    this.#ballast = ballast
  }

  /** Whether ends of changes wait for the disk to take them. */
  get owes(): boolean {
    return this.#owed.length > 0
  }

  write(batch: readonly NumberedRequest[]): WriteAnswer[] {
    try {
      const answers = this.#transaction(batch)
      return batch.some(isErasure) ? this.#compact(batch, answers) : answers
    } catch (error) {
      // One of them may be at fault: alone, the others succeed.
      if (batch.length > 1) return batch.flatMap((request) => this.write([request]))
      if (isDiskFull(error) && batch.some(isRemoval) && this.#ballast.giveUp()) return this.write(batch)
      return batch.map(({ id, request }) => this.#failed(id, request, error))
    }
  }

  #transaction(batch: readonly NumberedRequest[]): WriteAnswer[] {
    // The end of a change may get lost in a power cut: the backend tells it again at the next start.
    const durable = batch.some(({ request }) => request.kind !== 'resolve')
    this.#connection.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
    this.#connection.exec('BEGIN IMMEDIATE')
    try {
      for (const { seq, outcome } of this.#owed) this.#ledger.resolve(seq, outcome)
      const answers = batch.map(({ id, request }) => ({ id, seq: this.#apply(request) }))
      this.#connection.exec('COMMIT')
      this.#owed = []
      return answers
    } catch (error) {
      // SQLite has rolled back by itself after some failures, such as a full disk.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
      throw error
    }
  }

  /**
   * Rows that were deleted are still to be read in free pages and in the write-ahead log. An erasure is only done
   * when the file was written anew; one that failed here can be asked for again.
   */
  #compact(batch: readonly NumberedRequest[], answers: WriteAnswer[]): WriteAnswer[] {
    try {
      this.#connection.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
      return answers
    } catch (error) {
      const erasures = new Set(batch.filter(isErasure).map(({ id }) => id))
      const failure = failureOf(error)
      return answers.map((answer) => (erasures.has(answer.id) ? { ...answer, failure } : answer))
    }
  }

  #apply(request: WriteRequest): number {
    if (request.kind === 'begin') return this.#ledger.begin(request.intent)
    if (request.kind === 'resolve') this.#ledger.resolve(request.seq, request.outcome)
    if (request.kind === 'erase') this.#ledger.erase(request.userUuid)
    return 0
  }

  /** The end of a change never fails: it happened, and its intent is kept. */
  #failed(id: number, request: WriteRequest, error: unknown): WriteAnswer {
    if (request.kind !== 'resolve') return { id, seq: 0, failure: failureOf(error) }
    this.#owed.push(request)
    return { id, seq: 0 }
  }
}

function isErasure({ request }: NumberedRequest): boolean {
  return request.kind === 'erase'
}

/** What frees room when it has been noted. */
function isRemoval(numbered: NumberedRequest): boolean {
  const { request } = numbered
  return isErasure(numbered) || (request.kind === 'begin' && request.intent.op === 'delete')
}

function failureOf(error: unknown): WriteFailure {
  return { code: isDiskFull(error) ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE', reason: String(error) }
}

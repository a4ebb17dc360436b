import type { DatabaseSync } from 'node:sqlite'
import { isDamage } from '@nodekeep/plugin-sdk/data-folder'
import { isNodekeepError, messageOf } from '@nodekeep/plugin-sdk/thread-parts'
import { EntryChanges } from '../entries/entry-changes.ts'
import { BlockIndex } from './block-index.ts'
import { BlockSessions } from './block-sessions.ts'
import { answerOf, FailedTransaction, failureOf } from './failures.ts'
import { PackReader } from './pack-reader.ts'
import { PackWriter } from './pack-writer.ts'
import type {
  NumberedRequest,
  SendFromWriter,
  StoreAnswer,
  StoreChange,
  StoreRequest,
  WriterSettings,
} from './protocol.ts'
import { Roots } from './roots.ts'
import { setAside } from './schema.ts'
import { Upkeep } from './upkeep.ts'

interface ChangeRequest {
  readonly id: number
  readonly changes: readonly StoreChange[]
}

/** The part of the store that changes it, in the writer thread. */
export class StoreWriter {
  readonly #connection: DatabaseSync
  readonly #file: string
  readonly #send: SendFromWriter
  readonly #packs: PackWriter
  readonly #reader: PackReader
  readonly #entries: EntryChanges
  readonly #roots: Roots
  readonly #sessions: BlockSessions
  readonly #upkeep: Upkeep

  constructor(connection: DatabaseSync, { file, folder, packBytes }: WriterSettings, send: SendFromWriter) {
    const blocks = new BlockIndex(connection)
    const packs = new PackWriter(blocks, folder, packBytes)
    const reader = new PackReader(folder)
    const entries = new EntryChanges(connection, blocks)
    const roots = new Roots(connection, blocks)
    const sessions = new BlockSessions({ connection, blocks, packs, reader, folder })
    this.#connection = connection
    this.#file = file
    this.#send = send
    this.#packs = packs
    this.#reader = reader
    this.#entries = entries
    this.#roots = roots
    this.#sessions = sessions
    this.#upkeep = new Upkeep({ file, connection, blocks, packs, reader, entries, roots, sessions, send })
  }

  /**
   * Performs requests in their order, and answers them. Changes that follow each other are one transaction.
   *
   * @throws Error after which the store must be opened anew
   */
  perform(requests: readonly NumberedRequest[]): void {
    const answers: StoreAnswer[] = []
    let changes: ChangeRequest[] = []
    const commit = () => {
      if (changes.length > 0) answers.push(...this.#commit(changes))
      changes = []
    }
    for (const { id, request } of requests) {
      if (request.kind === 'change') {
        changes.push({ id, changes: request.changes })
        continue
      }
      // A change before may release the block that is put or held now.
      commit()
      if (request.kind === 'compact') this.#upkeep.compact(id)
      else answers.push(answerOf(id, () => this.#request(request)))
    }
    commit()
    this.#send({ answers })
  }

  /**
   * Does a small step of the upkeep.
   *
   * @returns the milliseconds after which there may be more to do; null if there is nothing
   * @throws Error after which the store must be opened anew
   */
  step(): number | null {
    return this.#upkeep.step()
  }

  /** Lets the tree be recorded if it has changed. */
  record(): void {
    this.#upkeep.record()
  }

  close(): void {
    try {
      this.#upkeep.end()
      this.#sessions.transaction(() => {})
      // The connections that read outlive this one, and cannot do it.
      this.#connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // All that anybody was promised is on the disk.
      this.#send({ warning: `The tree was not recorded at the end: ${messageOf(error)}` })
    }
    this.#packs.end()
    this.#reader.close()
    this.#connection.close()
  }

  /** Closes the store after an error. A damaged index is set aside, so the next start makes it again. */
  abandon(error: unknown): void {
    this.#connection.close()
    if (isDamage(error)) setAside(this.#file)
  }

  #request(request: Exclude<StoreRequest, { kind: 'change' | 'compact' }>): void {
    if (request.kind === 'put') this.#sessions.put(request.session, request.cid, request.bytes)
    if (request.kind === 'hold') this.#sessions.hold(request.session, request.cid)
    if (request.kind === 'end') this.#sessions.end(request.session)
  }

  #commit(requests: readonly ChangeRequest[]): StoreAnswer[] {
    this.#upkeep.noteChange()
    try {
      return this.#sessions.transaction(() =>
        requests.map(({ id, changes }) => answerOf(id, () => this.#apply(changes))),
      )
    } catch (error) {
      const failure = failureOf(error)
      return requests.map(({ id }) => ({ id, failure }))
    }
  }

  /** Makes all changes or none. Errors that are not about the changes end the transaction: SQLite may have rolled it back. */
  #apply(changes: readonly StoreChange[]): void {
    this.#connection.exec('SAVEPOINT change')
    try {
      for (const change of changes) {
        if (change.kind === 'root') this.#roots.set(change.holder, change.cid)
        else this.#entries.apply(change)
      }
    } catch (error) {
      if (!isNodekeepError(error)) throw new FailedTransaction(error)
      this.#connection.exec('ROLLBACK TO change')
      throw error
    } finally {
      if (this.#connection.isTransaction) this.#connection.exec('RELEASE change')
    }
  }
}

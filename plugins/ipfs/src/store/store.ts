import { mkdir } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { CID } from 'multiformats/cid'
import { PackFiles } from './pack-files.ts'
import { mostBlockBytes } from './pack-format.ts'
import type {
  FromWriter,
  NumberedRequest,
  StoreChange,
  StoreFailure,
  StoreRequest,
  ToWriter,
  WriterSettings,
} from './protocol.ts'
import { openIndexForReading } from './schema.ts'
import { StoreView } from './store-view.ts'

interface Call {
  resolve(): void
  reject(error: unknown): void
}

/** A view of one moment. Packs stay as they were until its release. */
export interface StoreSnapshot {
  readonly view: StoreView
  release(): Promise<void>
}

/** Holds blocks that nothing in the index names yet, or any more. */
export interface StoreSession {
  /**
   * Stores a block, unless it is there. Blocks to which it links must be there.
   *
   * @param bytes belong to the store from now on: at most 2 MiB, with the hash that the CID names
   * @throws NodekeepError INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE, VALIDATION_ERROR
   */
  put(cid: CID, bytes: Uint8Array): Promise<void>
  /** Holds a block that is there, and so all below it. @throws NodekeepError NOT_FOUND */
  hold(cid: CID): Promise<void>
  /** Lets the view show the blocks that were put. */
  flush(): Promise<void>
  /** What nothing names now will be removed. */
  end(): void
}

/**
 * Blocks, and what names them: a tree of files and the roots of others. Blocks lie in packs, and are removed when nothing names them. All
 * changes are made by a thread of its own, so that syncs of the disk hold nobody up; reading does not wait for it.
 */
export class Store {
  /** The store as it is. A change is visible when its promise has resolved. */
  readonly view: StoreView
  readonly #settings: WriterSettings
  readonly #thread: Worker
  readonly #exit: Promise<void>
  readonly #packs: PackFiles
  readonly #calls = new Map<number, Call>()
  readonly #snapshots = new Set<Promise<void>>()
  #batch: NumberedRequest[] = []
  #lastCall = 0
  #lastSession = 0
  #closedBy: NodekeepError | null = null

  /** @throws Error with one line for a person if the store cannot be opened */
  static async open(settings: WriterSettings): Promise<Store> {
    await mkdir(settings.folder, { recursive: true, mode: 0o700 })
    const file = moduleBeside(import.meta.url, 'writer-thread')
    const thread = new Worker(file, { ...lastingThread, workerData: settings, name: 'store of blocks' })
    const opened = await new Promise<FromWriter>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () => reject(new Error('The thread of the store of blocks ended at its start.')))
    })
    if ('opened' in opened && !opened.opened) throw new Error(opened.message)
    return new Store(thread, settings)
  }

  private constructor(thread: Worker, settings: WriterSettings) {
    this.#thread = thread
    this.#settings = settings
    this.#packs = new PackFiles(settings.folder)
    this.view = new StoreView(openIndexForReading(settings.file), this.#packs)
    this.#exit = new Promise((resolve) => thread.once('exit', () => resolve()))
    thread.on('message', (message: FromWriter) => this.#receive(message))
    thread.on('error', (error) => this.#rejectAll(unavailable('has failed', error)))
    thread.on('exit', () => this.#rejectAll(unavailable('is closed')))
    // An idle store keeps no process alive.
    thread.unref()
  }

  session(): StoreSession {
    this.#lastSession += 1
    const session = this.#lastSession
    return {
      put: (cid, bytes) => {
        if (bytes.length > mostBlockBytes)
          return Promise.reject(new NodekeepError('VALIDATION_ERROR', 'A block has more than 2 MiB.'))
        return this.#call({ kind: 'put', session, cid: cid.bytes, bytes })
      },
      hold: (cid) => this.#call({ kind: 'hold', session, cid: cid.bytes }),
      flush: () => this.#call({ kind: 'flush' }),
      end: () => void this.#call({ kind: 'end', session }).catch(() => {}),
    }
  }

  /**
   * Makes all of these changes, or none. They survive a power loss when the promise resolves, with all blocks that they name.
   *
   * @throws NodekeepError of the first change that cannot be made, INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE
   */
  change(changes: readonly StoreChange[]): Promise<void> {
    return this.#call({ kind: 'change', changes })
  }

  /** Fixes the store as it is now. */
  snapshot(): StoreSnapshot {
    const connection = openIndexForReading(this.#settings.file)
    // The first read of a transaction fixes what it sees.
    connection.exec('BEGIN; SELECT 1 FROM entry LIMIT 1')
    const released = Promise.withResolvers<void>()
    this.#snapshots.add(released.promise)
    return {
      view: new StoreView(connection, this.#packs),
      release: async () => {
        connection.close()
        released.resolve()
        this.#snapshots.delete(released.promise)
      },
    }
  }

  /** Refuses new requests, waits for the running ones, and closes all files. */
  async close(): Promise<void> {
    this.#closedBy ??= unavailable('is closed')
    this.#thread.ref()
    this.#send()
    this.#thread.postMessage('close' satisfies ToWriter)
    await this.#exit
    this.view.connection.close()
    await this.#packs.close()
  }

  #call(request: StoreRequest): Promise<void> {
    if (this.#closedBy !== null) return Promise.reject(this.#closedBy)
    return new Promise((resolve, reject) => {
      this.#lastCall += 1
      if (this.#calls.size === 0) this.#thread.ref()
      this.#calls.set(this.#lastCall, { resolve, reject })
      this.#batch.push({ id: this.#lastCall, request })
      if (this.#batch.length === 1) queueMicrotask(() => this.#send())
    })
  }

  #send(): void {
    const batch = this.#batch
    this.#batch = []
    if (batch.length > 0) this.#thread.postMessage(batch satisfies ToWriter)
  }

  #receive(message: FromWriter): void {
    if ('retired' in message) void this.#delete(message.retired)
    if (!('answers' in message)) return
    for (const { id, failure } of message.answers) {
      const call = this.#calls.get(id)
      this.#calls.delete(id)
      if (failure === undefined) call?.resolve()
      else call?.reject(errorOf(failure))
    }
    if (this.#calls.size === 0 && this.#closedBy === null) this.#thread.unref()
  }

  /** Deletes a pack when no snapshot from before can read it any more. */
  async #delete(pack: number): Promise<void> {
    await Promise.all(this.#snapshots)
    // A pack that stays is deleted at the next start: the index does not name it.
    await this.#packs.delete(pack).catch(() => {})
  }

  #rejectAll(error: NodekeepError): void {
    this.#closedBy ??= error
    for (const { reject } of this.#calls.values()) reject(this.#closedBy)
    this.#calls.clear()
  }
}

function errorOf({ code, message }: StoreFailure): NodekeepError {
  if (code === 'SERVICE_UNAVAILABLE') return unavailable('cannot be changed', message)
  if (code === 'INSUFFICIENT_STORAGE')
    return new NodekeepError(code, 'The disk that holds the blocks is full. Free some space and try again.', {
      cause: message,
    })
  return new NodekeepError(code, message)
}

function unavailable(state: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', `The store of blocks ${state}.`, { cause })
}

import { mkdir } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import * as dagPb from '@ipld/dag-pb'
import { type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { BlockBuffers } from './block-buffers.ts'
import { BlockVerification, type VerifyOptions, type VerifyResult } from './block-verification.ts'
import { isStoredCid, keyOf } from './links.ts'
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

/** Milliseconds between two messages about the progress of a rebuild. */
const progressEveryMs = 5000

export interface StoreOptions extends WriterSettings {
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Gets the progress of making a lost index again, as a part of 1. The opening ends after it. */
  readonly onRebuild?: (progress: number) => void
}

/** A view of one moment. Packs stay as they were until its release. */
export interface StoreSnapshot {
  readonly view: StoreView
  release(): Promise<void>
}

/** Keeps blocks that nothing in the index names: new ones, and those of a reading whose file may be removed. */
export interface StoreSession {
  /**
   * Stores a block, unless it is there and whole. Blocks to which it links must be there. A CID of version 0 is the same block as that of version 1.
   *
   * @param cid with the codec raw or DAG-PB, and SHA-256
   * @param bytes at most 2 MiB, with the hash that the CID names
   * @throws NodekeepError INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE, VALIDATION_ERROR
   */
  put(cid: CID, bytes: Uint8Array): Promise<void>
  /** Holds a block that is there, and so all below it. @throws NodekeepError NOT_FOUND */
  hold(cid: CID): Promise<void>
  /** Lets blocks go that nothing names. */
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
  readonly #deletions = new Set<Promise<void>>()
  readonly #log: StoreOptions['log']
  readonly #buffers = new BlockBuffers()
  readonly #verification: BlockVerification
  #batch: NumberedRequest[] = []
  #lastCall = 0
  #lastSession = 0
  #closedBy: NodekeepError | null = null
  #closed: Promise<void> | null = null

  /** @throws Error with one line for a person if the store cannot be opened */
  static async open({ log, onRebuild, ...settings }: StoreOptions): Promise<Store> {
    await mkdir(settings.folder, { recursive: true, mode: 0o700 })
    const file = moduleBeside(import.meta.url, 'writer-thread')
    const thread = new Worker(file, { ...lastingThread, workerData: settings, name: 'store of blocks' })
    let toldAt = Date.now()
    await new Promise<void>((resolve, reject) => {
      thread.on('message', function listen(message: FromWriter) {
        if ('rebuilt' in message) {
          onRebuild?.(message.rebuilt / message.of)
          if (Date.now() - toldAt < progressEveryMs) return
          toldAt = Date.now()
          log.info(message, 'The index of the store of blocks is being made again from the packs')
        } else if ('warning' in message) {
          log.warn(message.warning)
        } else {
          thread.off('message', listen)
          if ('opened' in message && !message.opened) reject(new Error(message.message))
          resolve()
        }
      })
      thread.once('error', reject)
      thread.once('exit', () => reject(new Error('The thread of the store of blocks ended at its start.')))
    })
    return new Store(thread, settings, log)
  }

  private constructor(thread: Worker, settings: WriterSettings, log: StoreOptions['log']) {
    this.#thread = thread
    this.#settings = settings
    this.#log = log
    this.#packs = new PackFiles(settings.folder)
    this.view = new StoreView(openIndexForReading(settings.file), this.#packs)
    this.#verification = new BlockVerification(this.view, settings.folder)
    this.#exit = new Promise((resolve) => thread.once('exit', () => resolve()))
    thread.on('message', (message: FromWriter) => this.#receive(message))
    thread.on('error', (error) => {
      log.warn({ err: error }, 'The store of blocks has failed, and will be opened anew')
      this.#rejectAll(unavailable('has failed', error))
    })
    thread.on('exit', () => this.#rejectAll(unavailable('is closed')))
    // An idle store keeps no process alive.
    thread.unref()
  }

  /** Whether the store takes requests. It does not after its end, or after an error of the disk: open it anew then. */
  get isOpen(): boolean {
    return this.#closedBy === null
  }

  session(): StoreSession {
    this.#lastSession += 1
    const session = this.#lastSession
    let isEnded = false
    const call = (request: StoreRequest) =>
      isEnded ? Promise.reject(new Error('The session has ended.')) : this.#call(request)
    return {
      put: async (cid, bytes) => {
        const refusal = refusalOf(cid, bytes)
        if (refusal !== null) throw new NodekeepError('VALIDATION_ERROR', refusal)
        // The thread gets a copy: the bytes may be a part of a larger buffer, and importers use them afterwards.
        const copy = this.#buffers.copyOf(bytes)
        try {
          await call({ kind: 'put', session, cid: keyOf(cid), bytes: copy })
        } finally {
          this.#buffers.giveBack(copy)
        }
      },
      hold: (cid) => call({ kind: 'hold', session, cid: keyOf(cid) }),
      end: () => {
        call({ kind: 'end', session }).catch(() => {})
        isEnded = true
      },
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

  /**
   * Removes all bytes that nothing needs: it records the tree, and rewrites all packs with such bytes. The promise resolves when no file has them any more.
   * That is not before the sessions and snapshots from before have ended.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE
   */
  async compact(): Promise<void> {
    await this.#call({ kind: 'compact' })
    await Promise.all(this.#deletions)
  }

  /**
   * Reads and verifies all blocks, one at a time. Those that were lost count as damaged. What is added meanwhile may be left out.
   *
   * @throws the reason of the signal
   */
  verify(options: VerifyOptions = {}): Promise<VerifyResult> {
    return this.#verification.verify(options)
  }

  /**
   * Checks that the store can be read: the index, the lengths of all packs, and the blocks of the newest pack that were not checked
   * before.
   *
   * @returns the first fault, as a sentence; null if there is none
   */
  async check(): Promise<string | null> {
    return this.#closedBy === null ? this.#verification.check() : this.#closedBy.message
  }

  /**
   * Refuses new requests, waits for the running ones, and closes all files. Readings that have begun go on, but those of snapshots
   * that are not released do not.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
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
    if ('warning' in message) this.#log.warn(message.warning)
    if ('retired' in message) this.#delete(message.retired)
    if (!('answers' in message)) return
    for (const { id, failure } of message.answers) {
      const call = this.#calls.get(id)
      this.#calls.delete(id)
      if (failure === undefined) call?.resolve()
      else call?.reject(errorOf(failure))
    }
    if (this.#calls.size > 0) return
    if (this.#closedBy === null) this.#thread.unref()
  }

  /** Deletes a pack when no snapshot from before can read it any more. */
  #delete(pack: number): void {
    const deletion = Promise.all(this.#snapshots)
      .then(() => this.#packs.delete(pack))
      .catch((error) => this.#log.warn({ err: error, pack }, 'A pack is deleted at the next start only'))
      .finally(() => this.#deletions.delete(deletion))
    this.#deletions.add(deletion)
  }

  #rejectAll(error: NodekeepError): void {
    this.#closedBy ??= error
    for (const { reject } of this.#calls.values()) reject(this.#closedBy)
    this.#calls.clear()
  }
}

function errorOf({ code, message }: StoreFailure): NodekeepError {
  if (code === 'SERVICE_UNAVAILABLE') return unavailable('cannot be changed', message)
  return new NodekeepError(code, message)
}

function unavailable(state: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', `The store of blocks ${state}.`, { cause })
}

/** Returns why a session does not take a block; null if it does. */
function refusalOf(cid: CID, bytes: Uint8Array): string | null {
  if (bytes.length > mostBlockBytes) return 'A block has more than 2 MiB.'
  // Blocks of other codecs are those of the store itself.
  if (cid.code !== raw.code && cid.code !== dagPb.code) return 'A block is neither raw nor DAG-PB.'
  return isStoredCid(cid) ? null : 'A CID does not use SHA-256.'
}

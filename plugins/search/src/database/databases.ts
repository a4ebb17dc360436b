import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { FairSlots, type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import {
  type DatabaseRequest,
  type DatabaseSettings,
  databaseName,
  type FromDatabases,
  type IndexCalls,
  type ToDatabases,
} from './protocol.ts'

/** Milliseconds without a call after which the thread ends, with its memory. */
const idleMs = 30_000

/** The thread that runs. */
interface DatabaseThread {
  readonly worker: Worker
  readonly ended: Promise<void>
}

/** The databases of all users. A thread of its own works on them, which starts with the first call and ends when it is idle. */
export class Databases {
  readonly #settings: DatabaseSettings
  readonly #log: Pick<Log, 'warn'>
  #thread: DatabaseThread | null = null
  /** Resolves when the thread before this one has ended. */
  #former: Promise<void> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>()
  /** One call at a time is in the thread, and users take turns: a search or a text that takes seconds holds up its own user. */
  readonly #turns = new FairSlots({ most: 1, mostPerKey: 1 })
  /** Users whose data were removed: nothing is stored of them any more. */
  readonly #erased = new Set<string>()

  constructor(settings: DatabaseSettings, log: Pick<Log, 'warn'>) {
    this.#settings = settings
    this.#log = log
  }

  /** The users who have a database. */
  async users(): Promise<string[]> {
    const names = await readdir(this.#settings.folder).catch(() => [])
    const extension = databaseName('')
    return names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length))
  }

  /** Whether a user has a database. */
  has(userUuid: string): boolean {
    return !this.#erased.has(userUuid) && existsSync(join(this.#settings.folder, databaseName(userUuid)))
  }

  /** Whether the data of a user were removed. */
  isErased(userUuid: string): boolean {
    return this.#erased.has(userUuid)
  }

  /**
   * Calls the index of a user, which is made if there is none.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE
   */
  call<Call extends keyof IndexCalls>(
    userUuid: string,
    call: Call,
    ...args: Parameters<IndexCalls[Call]>
  ): Promise<ReturnType<IndexCalls[Call]>> {
    if (this.#erased.has(userUuid)) throw unavailable('The user is deleted.')
    return this.#send(userUuid, call, args) as Promise<ReturnType<IndexCalls[Call]>>
  }

  /** Removes the database of a user, and makes none for this user any more. */
  async erase(userUuid: string): Promise<void> {
    this.#erased.add(userUuid)
    await this.#send(userUuid, 'erase', [])
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#end()
    await this.#former
  }

  #send(userUuid: string, call: DatabaseRequest['call'], args: readonly unknown[]): Promise<unknown> {
    return this.#turns.run(userUuid, () => this.#sendNow(userUuid, call, args))
  }

  async #sendNow(
    userUuid: string,
    call: DatabaseRequest['call'],
    args: readonly unknown[],
  ): Promise<unknown> {
    clearTimeout(this.#idle)
    this.#lastId += 1
    const id = this.#lastId
    const answer = Promise.withResolvers<unknown>()
    this.#calls.set(id, answer)
    try {
      await this.#former
      if (this.#isClosed) throw unavailable('The plugin stops.')
      this.#thread ??= this.#start()
      this.#thread.worker.ref()
      this.#thread.worker.postMessage({ id, userUuid, call, args } satisfies ToDatabases)
      return await answer.promise
    } finally {
      this.#calls.delete(id)
      if (this.#calls.size === 0) {
        this.#thread?.worker.unref()
        clearTimeout(this.#idle)
        this.#idle = setTimeout(() => this.#end(), idleMs).unref()
      }
    }
  }

  #start(): DatabaseThread {
    const worker = new Worker(moduleBeside(import.meta.url, 'database-thread'), {
      ...lastingThread,
      workerData: this.#settings,
      name: 'search',
    })
    let cause: unknown
    worker.on('message', (message: FromDatabases) => this.#take(message))
    worker.on('error', (error) => {
      cause = error
    })
    const ended = new Promise<void>((resolve) => {
      worker.on('exit', () => {
        resolve()
        if (this.#thread?.worker !== worker) return
        this.#thread = null
        for (const { reject } of this.#calls.values()) reject(unavailable('Its thread has ended.', cause))
      })
    })
    return { worker, ended }
  }

  /** Lets the thread end when it has answered all calls. */
  #end(): void {
    clearTimeout(this.#idle)
    if (this.#thread === null) return
    const { worker, ended } = this.#thread
    this.#thread = null
    this.#former = ended
    worker.ref()
    worker.postMessage('close' satisfies ToDatabases)
  }

  #take(message: FromDatabases): void {
    if ('warning' in message) {
      this.#log.warn(message.warning)
      return
    }
    const call = this.#calls.get(message.id)
    if ('result' in message) {
      call?.resolve(message.result)
      return
    }
    const { isDiskFull, reason } = message.failure
    // The log tells the causes that are errors.
    const cause = new Error(reason)
    call?.reject(isDiskFull ? diskFull(cause) : unavailable('It cannot be read or written now.', cause))
  }
}

function unavailable(state: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', `The search index is not available. ${state} Try again.`, {
    cause,
    headers: { 'retry-after': '10' },
  })
}

function diskFull(cause: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk that holds the search index is full. Free some space and try again.',
    { cause },
  )
}

import {
  isNodekeepError,
  type Log,
  NodekeepError,
  type StorageBackend,
  type StorageStaged,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'

/** Milliseconds in which a mount that fails repeatedly is logged once. */
const quietMs = 60_000

/** Seconds after which a client may try again. */
const retryAfter = { 'retry-after': '30' }

/** Logs when a mount becomes unreachable and when it answers again, once each, not for every request. */
export class Outages {
  readonly #log: Pick<Log, 'info' | 'warn'>
  /** The mounts that were logged as unreachable. */
  readonly #unreachable = new Set<UserPath>()
  readonly #loggedAt = new Map<UserPath, number>()

  constructor(log: Pick<Log, 'info' | 'warn'>) {
    this.#log = log
  }

  /**
   * Records that a mount failed to answer.
   *
   * @returns the error to throw, marked as logged
   */
  failed(mount: UserPath, error: NodekeepError): NodekeepError {
    if (error.logged) return error
    const loggedAt = this.#loggedAt.get(mount)
    if (!this.#unreachable.has(mount) && (loggedAt === undefined || performance.now() - loggedAt > quietMs)) {
      this.#unreachable.add(mount)
      this.#loggedAt.set(mount, performance.now())
      this.#log.warn({ err: error, mount }, 'The storage of a mount does not answer as it should.')
    }
    const { permanent } = error
    const headers = permanent ? error.headers : { ...retryAfter, ...error.headers }
    return new NodekeepError(error.code, error.message, { cause: error, headers, permanent, logged: true })
  }

  /** Records that a mount answered. */
  answered(mount: UserPath): void {
    if (this.#unreachable.size === 0 || !this.#unreachable.delete(mount)) return
    this.#log.info({ mount }, 'The storage of a mount answers again.')
  }

  /** Wraps a backend, without snapshots, so that its answers and failures are recorded here. */
  watch(mount: UserPath, backend: StorageBackend): StorageBackend {
    /** Errors that the backend only passes on. */
    const foreign = new WeakSet<object>()

    /** @param signal of the caller. A failure after its abort, such as when the node stops, is not one of the backend */
    const failed = (error: unknown, signal?: AbortSignal): unknown => {
      if (!isNodekeepError(error) || error.code !== 'SERVICE_UNAVAILABLE' || foreign.has(error)) return error
      if (signal?.aborted) return error
      return this.failed(mount, error)
    }

    const watched = async <T>(call: Promise<T>, signal?: AbortSignal): Promise<T> => {
      try {
        const answer = await call
        this.answered(mount)
        return answer
      } catch (error) {
        throw failed(error, signal)
      }
    }

    const watchedItems = <T>(items: AsyncIterable<T>, signal?: AbortSignal): AsyncIterable<T> => ({
      [Symbol.asyncIterator]() {
        const iterator = items[Symbol.asyncIterator]()
        return {
          next: () =>
            iterator.next().catch((error) => {
              throw failed(error, signal)
            }),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        }
      },
    })

    /** The journal may refuse the last step of a write or a copy. That is no failure of the backend. */
    const withForeignErrors = <T extends Pick<StorageWriteOptions, 'beforeCommit'>>(options: T): T => {
      const { beforeCommit } = options
      if (beforeCommit === undefined) return options
      const step = async (staged: StorageStaged) => {
        try {
          await beforeCommit(staged)
        } catch (error) {
          if (isNodekeepError(error)) foreign.add(error)
          throw error
        }
      }
      return { ...options, beforeCommit: step }
    }

    const { move, copy, watch, storageId } = backend
    return {
      ...(move !== undefined && {
        move: (source, destination, options) => watched(move.call(backend, source, destination, options)),
      }),
      ...(copy !== undefined && {
        copy: (source, destination, options) =>
          watched(copy.call(backend, source, destination, withForeignErrors(options ?? {})), options?.signal),
      }),
      get supports() {
        return backend.supports
      },
      probe: (signal) => watched(backend.probe(signal), signal),
      stat: (path, options) => watched(backend.stat(path, options), options?.signal),
      list: (path, options) => watchedItems(backend.list(path, options), options?.signal),
      async read(path, options) {
        const { entry, content } = await watched(backend.read(path, options), options?.signal)
        return { entry, content: watchedItems(content, options?.signal) }
      },
      write: (path, content, options) =>
        watched(backend.write(path, content, withForeignErrors(options ?? {})), options?.signal),
      makeDirectory: (path, options) => watched(backend.makeDirectory(path, options)),
      remove: (path, options) => watched(backend.remove(path, options)),
      ...(watch !== undefined && {
        watch: (listener: (path: string) => void, signal: AbortSignal) =>
          watched(watch.call(backend, listener, signal), signal),
      }),
      ...(storageId !== undefined && {
        storageId: (signal: AbortSignal) => watched(storageId.call(backend, signal), signal),
      }),
      close: () => backend.close(),
    }
  }
}

import {
  isNodekeepError,
  type StorageBackend,
  type StorageStaged,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import type { Reach } from './reach.ts'

/** The same backend, but for snapshots. What it fails and answers tells whether its mount is in reach. */
export function watchedBackend(backend: StorageBackend, mount: UserPath, reach: Reach): StorageBackend {
  const foreign = new WeakSet<object>()

  function failed(error: unknown): unknown {
    if (!isNodekeepError(error) || error.code !== 'SERVICE_UNAVAILABLE' || foreign.has(error)) return error
    return reach.lost(mount, error)
  }

  async function watch<T>(call: Promise<T>): Promise<T> {
    try {
      const answer = await call
      reach.found(mount)
      return answer
    } catch (error) {
      throw failed(error)
    }
  }

  function each<T>(items: AsyncIterable<T>): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]() {
        const iterator = items[Symbol.asyncIterator]()
        const fail = (error: unknown) => {
          throw failed(error)
        }
        return {
          next: () => iterator.next().catch(fail),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        }
      },
    }
  }

  /** What the journal refuses at the last step of a write is no failure of the backend. */
  function withOwnRefusals(options: StorageWriteOptions = {}): StorageWriteOptions {
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

  return {
    supports: { ...backend.supports, snapshot: false },
    probe: (signal) => watch(backend.probe(signal)),
    stat: (path) => watch(backend.stat(path)),
    list: (path) => each(backend.list(path)),
    async read(path, options) {
      const { entry, content } = await watch(backend.read(path, options))
      return { entry, content: each(content) }
    },
    write: (path, content, options) => watch(backend.write(path, content, withOwnRefusals(options))),
    makeDirectory: (path) => watch(backend.makeDirectory(path)),
    remove: (path, options) => watch(backend.remove(path, options)),
    move: (source, destination, options) => watch(backend.move(source, destination, options)),
    close: () => backend.close(),
  }
}

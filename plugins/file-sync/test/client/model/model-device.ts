import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { Clock, Disk, Incoming, LocalContent, Remote } from '../../../src/client/ports.ts'
import { SyncEngine } from '../../../src/client/sync-engine.ts'
import { SyncFailure } from '../../../src/client/sync-failure.ts'
import { SyncState } from '../../../src/client/sync-state.ts'
import { ModelDisk } from './model-disk.ts'
import type { ModelNode } from './model-node.ts'
import type { SimulatedTime } from './simulated-time.ts'

/** How badly the world behaves. All are probabilities. */
interface Faults {
  /** A request fails before or after its effect. */
  network: number
  /** A watch loses a change. */
  watch: number
}

/** Everything that the devices share. */
export interface DeviceWorld {
  readonly time: SimulatedTime
  readonly node: ModelNode
  readonly faults: Faults
  readonly random: () => number
  /** The longest time of a request, and of its answer, in milliseconds. Default: 200. */
  readonly latency?: number
  readonly log: (line: string) => void
  /** The device whose files nobody else may change, because all changes are made there. */
  readonly alone?: string | undefined
}

/** A device with a real engine and a real state, on a disk, a network and a clock of the model. */
export class ModelDevice {
  readonly name: string
  readonly disk: ModelDisk
  engine: SyncEngine | null = null
  /** Milliseconds by which the clock of the device is wrong. */
  skew: number
  isOnline = true
  readonly #world: DeviceWorld
  readonly #database = new DatabaseSync(':memory:')
  /** Counts the processes. Nothing that a killed one waits for ever happens. */
  #process = 0
  #abort = new AbortController()
  #failure: Error | null = null
  /** Ends a connection, with an error or as if the process were gone. */
  #feeds = new Set<(error: Error | null) => void>()

  constructor(
    name: string,
    world: DeviceWorld,
    { isCaseSensitive, skew }: { isCaseSensitive: boolean; skew: number },
  ) {
    this.name = name
    this.disk = new ModelDisk(isCaseSensitive)
    this.skew = skew
    this.#world = world
  }

  get now(): number {
    return this.#world.time.now + this.skew
  }

  start(): void {
    if (this.engine !== null) return
    this.#process += 1
    const process = this.#process
    this.#abort = new AbortController()
    const services = {
      state: new SyncState(this.#database),
      disk: this.#disk(process),
      remote: this.#remote(process),
      clock: this.#clock(process),
      random: this.#world.random,
    }
    const engine = new SyncEngine(services, {
      deviceName: this.name,
      deletionLimits: { files: 4, share: 0.5 },
      onStep: (path, step) => this.#world.log(`${this.name}: ${step} ${path}`),
    })
    this.engine = engine
    engine.run(this.#abort.signal).catch((error: Error) => {
      if (process !== this.#process) return
      this.engine = null
      if (!(error instanceof SyncFailure)) this.#failure = error
      else this.#world.log(`${this.name}: stopped: ${error.message}`)
    })
  }

  /** Kills the process. Requests on their way still arrive. */
  kill(): void {
    this.#process += 1
    this.engine = null
    this.#abort = new AbortController()
    for (const close of this.#feeds) close(null)
    this.#feeds.clear()
  }

  disconnect(): void {
    this.isOnline = false
    this.cut()
  }

  /** Loses the connection that tells changes, and nothing else. */
  cut(): void {
    for (const close of this.#feeds) close(new SyncFailure('unavailable', 'The connection is lost.'))
    this.#feeds.clear()
  }

  /** @throws the error of an engine that failed in a way that it does not expect, or that broke a rule of the model */
  check(): void {
    if (this.#failure !== null) throw this.#failure
  }

  /** Waits a random time; for ever if the process is killed meanwhile. */
  async #wait(process: number, most: number): Promise<void> {
    const { time, random } = this.#world
    await new Promise<void>((resolve) => {
      time.after(random() * most, () => {
        if (process === this.#process) resolve()
      })
    })
  }

  /** A request. It may take effect although the client never hears of it. */
  async #request<T>(process: number, effect: () => T): Promise<T> {
    const { time, random, faults, latency = 200 } = this.#world
    if (process !== this.#process) return new Promise<T>(() => {})
    const outcome = Promise.withResolvers<T>()
    const settle = (work: () => T) => {
      if (process !== this.#process) return
      try {
        outcome.resolve(work())
      } catch (error) {
        outcome.reject(error)
      }
    }
    const fail = () => {
      throw new SyncFailure('unavailable', 'The connection is lost.')
    }
    time.after(random() * latency, () => {
      if (!this.isOnline || random() < faults.network / 2) return settle(fail)
      let answer: () => T
      try {
        const value = effect()
        answer = () => value
      } catch (error) {
        answer = () => {
          throw error
        }
      }
      const isLost = random() < faults.network / 2
      time.after(random() * latency, () => settle(isLost || !this.isOnline ? fail : answer))
    })
    return outcome.promise
  }

  #clock(process: number): Clock {
    return {
      now: () => this.now,
      elapsed: () => this.#world.time.now,
      sleep: (ms, signal) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#world.time.after(ms, () => process === this.#process && resolve())
        signal.addEventListener('abort', () => resolve(), { once: true })
        return promise
      },
    }
  }

  #remote(process: number): Remote {
    const { node, time, random } = this.#world
    let ping: (() => void) | null = null
    const pongs: PromiseWithResolvers<void>[] = []
    return {
      follow: (hello, onMessage, signal) => {
        const closed = Promise.withResolvers<void>()
        let isOpen = true
        let delay = 0
        // Messages of one connection keep their order.
        const inOrder = (run: () => void) => {
          delay = Math.max(delay, time.now + random() * 200)
          time.after(delay - time.now, () => isOpen && process === this.#process && run())
        }
        if (!this.isOnline) {
          closed.reject(new SyncFailure('unavailable', 'The node does not answer.'))
          return closed.promise
        }
        const session = node.follow(hello, (message) =>
          inOrder(() => {
            if (message.type === 'pong') pongs.shift()?.resolve()
            else onMessage(message, (answer) => inOrder(() => session.answer(answer)))
          }),
        )
        ping = () => inOrder(() => session.ping())
        const close = (error: Error | null) => {
          isOpen = false
          session.close()
          this.#feeds.delete(close)
          ping = null
          for (const { reject } of pongs.splice(0)) {
            if (process === this.#process) reject(new SyncFailure('unavailable', 'The connection is lost.'))
          }
          if (error !== null) closed.reject(error)
        }
        this.#feeds.add(close)
        const end = () => {
          close(null)
          closed.resolve()
        }
        signal.addEventListener('abort', end, { once: true })
        return closed.promise
      },
      confirm: async () => {
        if (ping === null) throw new SyncFailure('unavailable', 'There is no connection.')
        const pong = Promise.withResolvers<void>()
        pongs.push(pong)
        ping()
        return pong.promise
      },
      stat: (path) => this.#request(process, () => node.stat(path)),
      list: (folder) => this.#request(process, () => node.list(folder)),
      largestFile: () => this.#request(process, () => node.largestFile),
      hash: (path, revision) => this.#request(process, () => node.hash(path, revision)),
      read: (path, { revision }) => {
        const request = this.#request(process, () => node.read(path, revision))
        request.catch(() => {})
        return (async function* () {
          yield new TextEncoder().encode(await request)
        })()
      },
      write: async (path, content, revision) => {
        const text = new TextDecoder().decode(Buffer.concat(await Array.fromAsync(content.read())))
        return this.#request(process, () => node.write(path, text, content.modified, revision))
      },
      makeFolder: (path) => this.#request(process, () => node.makeFolder(path)),
      remove: (path, revision) => {
        this.#checkRemoval(path, revision === null ? 'directory' : 'file')
        return this.#request(process, () => node.remove(path, revision))
      },
      move: (source, destination, revision) =>
        this.#request(process, () => node.move(source, destination, revision)),
      stop: () => {},
    }
  }

  #disk(process: number): Disk {
    const { disk } = this
    const at = async <T>(effect: () => T): Promise<T> => {
      await this.#wait(process, 5)
      if (!disk.isThere) throw new SyncFailure('stop', 'The disk is not mounted.')
      return effect()
    }
    const change = async <T>(effect: () => T): Promise<T> => {
      const changed = await at(effect)
      if (this.#world.alone === this.name) throw new Error(`The disk of ${this.name} was changed.`)
      return changed
    }
    /** No file goes from the disk that the node never gave up. */
    const replace = async <T>(path: string, effect: () => T): Promise<T> =>
      change(() => {
        const there = disk.find(path)
        const answer = effect()
        const now = disk.find(path)
        // A restored node gives the same content another revision, so it may come once more.
        if (now?.type === 'file' && there?.type === 'file' && now.content === there.content) return answer
        if (there?.type === 'file' && this.#world.node.hasKept(there.path, there.content))
          throw new Error(`${this.name} takes ${there.content} from ${path}, but the node still has it`)
        return answer
      })
    const full = () => {
      if (disk.isFull) throw new SyncFailure('unavailable', 'The disk is full.')
    }
    return {
      nameKey: (name) => disk.key(name),
      unfitName: (name) =>
        !disk.isCaseSensitive && name.endsWith('.') ? 'No name ends with a dot here.' : null,
      stat: (path) => at(() => disk.stat(path)),
      list: (folder) => at(() => disk.list(folder)),
      watch: (listener, signal) => {
        const { time, random, faults } = this.#world
        disk.onChange = (path) => {
          if (random() < faults.watch) return
          time.after(
            50 + random() * 100,
            () => process === this.#process && !signal.aborted && listener([path]),
          )
        }
        return Promise.resolve()
      },
      read: async (path, file): Promise<LocalContent> => {
        const content = await at(() => disk.contentOf(path, file))
        return {
          size: content.length,
          modified: file.modified,
          sha256: sha256Of(content),
          read: async function* () {
            await at(() => disk.contentOf(path, file))
            yield new TextEncoder().encode(content)
          },
          close: async () => {},
        }
      },
      receive: async (content, { modified }): Promise<Incoming> => {
        const bytes = Buffer.concat(await Array.fromAsync(content))
        await at(full)
        const text = bytes.toString()
        const incoming = { sha256: sha256Of(text), size: text.length, discard: async () => {} }
        received.set(incoming, { text, modified })
        return incoming
      },
      place: async (incoming, path, expected) => {
        const { text, modified } = received.get(incoming) as { text: string; modified: number }
        const placed = await replace(path, () => {
          full()
          return disk.place(path, text, modified, expected)
        })
        // A person may change it meanwhile.
        return at(() => {
          const now = disk.stat(path)
          return now?.type === 'file' && now.identity === placed.identity ? now : null
        })
      },
      // An empty folder may come back, or go, after an answer was lost: only what is sent of files is recorded.
      makeFolder: (path) => at(() => disk.makeFolder(path)),
      trash: (path, file) => replace(path, () => disk.trash(path, file)),
      removeFolder: (path) => at(() => disk.removeFolder(path)),
      move: (path, destination, file) => {
        const move = () => disk.move(path, destination, file)
        // A file that took the place of such a folder is kept beside it.
        return this.#world.node.nodes.get(path)?.type === 'directory' ? at(move) : change(move)
      },
    }
  }

  /** Nothing goes from the node as long as the disk has it. */
  #checkRemoval(path: string, type: 'file' | 'directory'): void {
    if (this.disk.isThere && this.disk.stat(path)?.type === type)
      throw new Error(`${this.name} removes ${path} from the node, but has it on its disk`)
  }
}

const received = new WeakMap<Incoming, { readonly text: string; readonly modified: number }>()

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

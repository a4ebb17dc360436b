import { setTimeout as delay } from 'node:timers/promises'
import type { FileContentHash, FileIndex, Log } from '@nodekeep/plugin-sdk'
import { isNodekeepError } from '@nodekeep/plugin-sdk'

/** Reads of a user that go on without a request. */
const mostLate = 4

/** Milliseconds after which a read ends that no request has asked for again. */
const keptMs = 60_000

/** The content of a file; `null` if it is gone, or changes while it is read. */
export type FileRead = FileContentHash | null | 'late' | 'unreadable'

interface ReadBacksServices {
  readonly index: FileIndex
  readonly log: Pick<Log, 'warn'>
  readonly signal: AbortSignal
}

interface Bounds {
  /** When the request must be answered, in milliseconds of `performance.now()`. */
  readonly end: number
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

interface Reading {
  readonly result: Promise<Exclude<FileRead, 'late'>>
  readonly abort: AbortController
}

/**
 * Reads files from their storages to find out their contents. A large file takes longer than a request may: its read goes on, and the
 * next request for it gets the outcome.
 */
export class ReadBacks {
  readonly #services: ReadBacksServices
  /** Reads that have outlived their requests, by user and path. */
  readonly #late = new Map<string, Map<string, Reading>>()

  constructor(services: ReadBacksServices) {
    this.#services = services
  }

  /**
   * @returns `late` if the time is over before the file is read
   * @throws the reason of the signal
   */
  async read(userUuid: string, path: string, { end, signal }: Bounds): Promise<FileRead> {
    signal.throwIfAborted()
    const reading = this.#takeLate(userUuid, path) ?? this.#begin(userUuid, path)
    const over = new AbortController()
    const leave = () => reading.abort.abort(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      const time = delay(Math.max(0, end - performance.now()), 'late' as const, { signal: over.signal })
      const outcome = await Promise.race([reading.result, time.catch(() => 'late' as const)])
      signal.throwIfAborted()
      if (outcome === 'late') this.#keepLate(userUuid, path, reading)
      return outcome
    } finally {
      over.abort()
      signal.removeEventListener('abort', leave)
    }
  }

  #begin(userUuid: string, path: string): Reading {
    const { index, log, signal } = this.#services
    const abort = new AbortController()
    const hash = index
      .for({ uuid: userUuid })
      .hash(path, { isFresh: true, signal: AbortSignal.any([signal, abort.signal]) })
    const result = hash.catch((error: unknown) => {
      const isExpected = isNodekeepError(error) && error.code === 'SERVICE_UNAVAILABLE'
      if (!isExpected && !abort.signal.aborted)
        log.warn({ err: error, userUuid, path }, 'A file could not be read for a check.')
      return 'unreadable' as const
    })
    return { result, abort }
  }

  #takeLate(userUuid: string, path: string): Reading | undefined {
    const readings = this.#late.get(userUuid)
    const reading = readings?.get(path)
    readings?.delete(path)
    if (readings?.size === 0) this.#late.delete(userUuid)
    return reading
  }

  #keepLate(userUuid: string, path: string, reading: Reading): void {
    const readings = this.#late.get(userUuid) ?? new Map<string, Reading>()
    this.#late.set(userUuid, readings)
    readings.set(path, reading)
    const end = (at: string, one: Reading) => {
      if (this.#late.get(userUuid)?.get(at) !== one) return
      this.#takeLate(userUuid, at)
      one.abort.abort(new Error('No request asks for this file any more.'))
    }
    setTimeout(() => end(path, reading), keptMs).unref()
    const [oldest] = readings
    if (readings.size > mostLate && oldest !== undefined) end(...oldest)
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The requests of a load, and their number at a time. */
export interface LoadOptions {
  readonly url: URL
  /** Paths with queries that are requested in turn. Default: the path of the address. */
  readonly paths?: readonly string[]
  /** Default: `GET`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Connections at a time. Default: 32. */
  readonly connections?: number
  /** Unanswered requests at a time on each connection. Default: 1. */
  readonly pipelining?: number
  /** Seconds to measure. Default: 2. The half second before does not count. */
  readonly seconds?: number
}

/** The result of a load in which every answer had a 2xx status. */
export interface LoadResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/**
 * Sends the same request again and again, from a process of its own. Only its path may change.
 *
 * @throws when an answer has another status than 2xx or no content-length, or a connection breaks
 */
export async function loadHttp(options: LoadOptions): Promise<LoadResult> {
  const program = fileURLToPath(new URL('http-load-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, complaints, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`The load on ${options.url} failed:\n${complaints}`)
  return JSON.parse(printed)
}

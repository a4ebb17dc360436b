import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** What to send, and how hard. */
export interface LoadOptions {
  readonly url: URL
  /** Paths with their queries that are asked for by turns; that of the address when not given. */
  readonly paths?: readonly string[]
  /** `GET` when not given. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Connections that are kept busy at once; 32 when not given. */
  readonly connections?: number
  /** Requests on their way at once on each connection; 1 when not given. */
  readonly pipelining?: number
  /** How long to measure; 3 when not given. Half a second before it doesn't count. */
  readonly seconds?: number
}

/** What came of it. Every answer had a 2xx status. */
export interface LoadResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/**
 * Sends requests that differ in nothing but their path, over and over, from a process of its own.
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

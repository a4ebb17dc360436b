import type { Readable } from 'node:stream'
import { TransferFailure } from './transfer-failure.ts'

/** How slow a source may be. */
export interface Pace {
  /** The longest time without a byte, in milliseconds. */
  readonly idleMs: number
  /** The lowest mean rate of a transfer that takes longer than `idleMs`, in bytes per second. */
  readonly bytesPerSecond: number
}

/** The pace of a slow line: 75 MB may take 80 minutes. */
export const slowestPace: Pace = { idleMs: 30_000, bytesPerSecond: 16 * 1024 }

/**
 * Passes a stream on that neither stands still, nor trickles, nor goes on without end. The time in which the reader is busy with a
 * chunk does not count as standing still.
 *
 * @param maxBytes the length beyond which the stream is cut
 * @throws TransferFailure; errors of the stream
 */
export async function* withPace(
  stream: Readable,
  maxBytes: number,
  { idleMs, bytesPerSecond }: Pace,
): AsyncGenerator<Buffer, void, undefined> {
  const begunAt = performance.now()
  let received = 0
  const wait = () => setTimeout(() => stream.destroy(tooSlow()), idleMs)
  let timer = wait()
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      clearTimeout(timer)
      received += chunk.length
      if (received > maxBytes)
        throw new TransferFailure(`sends more than the ${maxBytes} bytes that a file has`)
      const allowedMs = idleMs + (received / bytesPerSecond) * 1000
      if (performance.now() - begunAt > allowedMs) throw tooSlow()
      yield chunk
      timer = wait()
    }
  } finally {
    clearTimeout(timer)
    stream.destroy()
  }
}

/** The failure of a source that keeps its reader waiting. */
export function tooSlow(): TransferFailure {
  return new TransferFailure('is too slow', { code: 'UPSTREAM_TIMEOUT' })
}

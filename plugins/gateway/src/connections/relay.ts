import type { Socket } from 'node:net'
import type { ByteRate } from './byte-rate.ts'
import { cut } from './cut.ts'
import { freeBuffers } from './free-buffers.ts'

interface RelayLimits {
  /** The time without any byte after which both connections are cut, in milliseconds. */
  readonly idleMs: number
  /** `null` without a limit. */
  readonly rate: ByteRate | null
  /** As `idleMs`, for a connection that is left alone: the other one is closed, and all of its bytes have been passed on. */
  readonly closingMs?: number
}

/** A slow reader needs some time until the system takes further bytes. */
const usualClosingMs = 60_000

/**
 * Joins two connections until both have ended: bytes, backpressure and the end of each direction pass from one to the other. When
 * one of them is cut, so is the other, and a client without TLS of its own sees a reset: a body that is cut short must not look
 * like a whole one.
 */
export function relay(
  client: Socket,
  node: Socket,
  { idleMs, rate, closingMs = Math.min(idleMs, usualClosingMs) }: RelayLimits,
): void {
  client.setTimeout(idleMs, () => cut(client))
  node.setTimeout(idleMs, () => cut(node))
  follow(client, node, rate, closingMs)
  follow(node, client, rate, closingMs)
}

function follow(source: Socket, sink: Socket, rate: ByteRate | null, closingMs: number): void {
  passChunks(source, sink, rate)
  source.once('end', () => sink.end())
  // A failure also closes the connection.
  source.on('error', () => {})
  const close = () => {
    const isWhole = source.errored === null && source.readableEnded && source.writableFinished
    // Node neither completes nor fails the writes to a client of TLS that has said its end and then reset its connection.
    if (isWhole) sink.setTimeout(closingMs)
    else cut(sink)
  }
  source.once('close', close)
  if (source.destroyed) close()
}

/**
 * Writes what one connection receives to the other one. The chunks that arrive in one turn of the event loop become one write: TLS
 * yields at most 16 KiB at a time, and a write of each chunk costs more than its bytes.
 */
function passChunks(source: Socket, sink: Socket, rate: ByteRate | null): void {
  /** Bytes that wait for the end of the turn. */
  let joined = 0
  const passJoined = () => {
    const bytes = joined
    joined = 0
    sink.uncork()
    freeBuffers(bytes)
  }
  const resume = () => {
    if (rate?.isSpent === true) rate.whenRefilled(resume)
    else if (!sink.writableNeedDrain) source.resume()
  }
  source.on('data', (chunk: Buffer) => {
    if (joined === 0) {
      sink.cork()
      setImmediate(passJoined)
    }
    joined += chunk.length
    sink.write(chunk)
    rate?.spend(chunk.length)
    if (!sink.writableNeedDrain && rate?.isSpent !== true) return
    source.pause()
    if (!sink.writableNeedDrain) resume()
  })
  sink.on('drain', resume)
  source.pause()
  resume()
}

import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { WatchSettings } from './event-loop-watch.ts'

const { beats, stopping, event, effect, log } = workerData as WatchSettings

/** Seconds without a beat that count as a standstill: the time that a stop also grants to each plugin by default. */
const standstillSeconds = 10

/** Seconds in which the watched thread must react to an interruption. */
const reactionSeconds = 5

let latest = -1
let missed = 0
let interrupts = false

// Checks are counted, not seconds: while the whole process or machine sleeps, no check is missed.
setInterval(async () => {
  const now = Atomics.load(beats, 0)
  missed = now === latest ? missed + 1 : 0
  latest = now
  if (missed < standstillSeconds || interrupts) return
  if (missed === standstillSeconds) {
    interrupts = true
    await interrupt()
    interrupts = false
  }
  if (Atomics.load(stopping, 0) === 1) {
    await logLine('The node was asked to stop, but its event loop stands still. The process is ended.')
    process.kill(process.pid, 'SIGKILL')
  }
}, 1000)

/**
 * Lets the watched thread say what it is doing, and then go on. While that thread runs no JavaScript, only the standstill is logged:
 * the thread tells more when the call returns.
 */
async function interrupt(): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connectToMainThread()
  let isLate = false
  const paused = new Promise<void>((resolve) => session.once('Debugger.paused', () => resolve()))
  const told = paused.then(async () => {
    const expression = `process.emit('${event}', ${isLate ? missed : standstillSeconds})`
    await session.post('Runtime.evaluate', { expression })
    await session.post('Debugger.resume')
    session.disconnect()
  })
  session.post('Debugger.enable').catch(() => {})
  session.post('Debugger.pause').catch(() => {})
  await Promise.race([told, setTimeout(reactionSeconds * 1000).then(() => (isLate = true))])
  if (!isLate) return
  await logLine(
    `The event loop has stood still for ${standstillSeconds} s, ${effect}. It does not run JavaScript: a call into the system or a ` +
      'library has not returned. When it returns, its caller is named.',
  )
}

/** Logs without the watched thread. The logger is loaded only here, since it is hardly ever needed. */
async function logLine(message: string): Promise<void> {
  const { createLogger } = await import('../log/logger.ts')
  const { level, format, fd } = log
  createLogger({ level, format, destination: { write: (line) => void writeSync(fd, line) } }).fatal(message)
}

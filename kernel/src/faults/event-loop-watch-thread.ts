import { setTimeout } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { WatchSettings } from './event-loop-watch.ts'

const { beats, stopping, event, log } = workerData as WatchSettings

/** Seconds without a beat that count as a standstill: the time that a stop also grants to each plugin by default. */
const standstillSeconds = 10

/** Seconds in which the watched thread must react to an interruption. */
const reactionSeconds = 2

let latest = -1
let missed = 0

// Checks are counted, not seconds: while the whole process or machine sleeps, no check is missed.
setInterval(async () => {
  const now = Atomics.load(beats, 0)
  missed = now === latest ? missed + 1 : 0
  latest = now
  if (missed < standstillSeconds) return
  if (missed === standstillSeconds && !(await interrupt())) {
    await logLine(
      `The event loop has stood still for ${standstillSeconds} s, so the node answers nobody. It does not run JavaScript: a call into the ` +
        'system or a library has not returned.',
    )
  }
  if (Atomics.load(stopping, 0) === 1) {
    await logLine('The node was asked to stop, but its event loop stands still. The process is ended.')
    process.kill(process.pid, 'SIGKILL')
  }
}, 1000)

/** Lets the watched thread say what it is doing, and then go on. Returns whether it did. */
async function interrupt(): Promise<boolean> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connectToMainThread()
  try {
    const paused = new Promise<true>((resolve) => session.once('Debugger.paused', () => resolve(true)))
    const late = setTimeout(reactionSeconds * 1000, false as const)
    session.post('Debugger.enable').catch(() => {})
    session.post('Debugger.pause').catch(() => {})
    if (!(await Promise.race([paused, late]))) return false
    await session.post('Runtime.evaluate', { expression: `process.emit('${event}', ${standstillSeconds})` })
    await session.post('Debugger.resume')
    return true
  } finally {
    session.disconnect()
  }
}

/** Logs without the watched thread. The logger is loaded only here, since it is hardly ever needed. */
async function logLine(message: string): Promise<void> {
  const { createLogger } = await import('../log/logger.ts')
  createLogger(log).fatal(message)
}

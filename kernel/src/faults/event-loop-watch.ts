import type { EventEmitter } from 'node:events'
import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'
import type { Log } from '@nodekeep/plugin-sdk'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { LogFormat, LogLevel } from '../log/levels.ts'
import { currentWork } from './fault-context.ts'

/** The input of the watching thread. */
export interface WatchSettings {
  /** Counts up while the event loop turns. In shared memory, as `stopping`. */
  readonly beats: Int32Array
  /** 1 when the node was asked to stop. */
  readonly stopping: Int32Array
  /** The event of the process that the thread emits in the watched thread, with the seconds of the standstill. */
  readonly event: string
  /** The effect of a standstill, as the end of a sentence: `so the node answers nobody`. */
  readonly effect: string
  readonly log: { readonly level: LogLevel; readonly format: LogFormat; readonly fd: 1 | 2 }
}

interface EventLoopWatchOptions extends Pick<WatchSettings, 'effect'> {
  readonly log: Log
  /** How the watching thread logs what this one cannot. */
  readonly logSettings: WatchSettings['log']
  /** Called within the standstill, on the stack of the code that causes it. */
  readonly onStandstill: () => void
  /** Called when the event loop turns again. */
  readonly onEnd: () => void
}

/** The watch over the event loop of this thread. */
interface EventLoopWatch {
  /** Says that the node was asked to stop. From now on, a standstill ends the process. */
  stopping(): unknown
  /** Ends the watch. */
  end(): void
}

const beatMs = 500
const event = 'nodekeep:standstill'

/**
 * Watches the event loop of this thread from a second thread. After a standstill of 10 seconds, that thread interrupts the
 * running code with the inspector, and this one logs the plugin, the request and the stack. A system call cannot be interrupted:
 * then only the standstill is logged, and its caller when it returns.
 */
export function watchEventLoop(options: EventLoopWatchOptions): EventLoopWatch {
  const { log, logSettings, effect, onStandstill, onEnd } = options
  const beats = sharedNumber()
  const stopping = sharedNumber()
  const watch = { stopping: () => Atomics.store(stopping, 0, 1), end() {} }
  // A breakpoint of a debugger is not a standstill.
  if (inspectorUrl() !== undefined) return watch

  let stands = false
  const process: EventEmitter = globalThis.process
  const onEvent = (seconds: number) => {
    stands = true
    onStandstill()
    logStandstill(log, seconds, effect)
  }
  process.on(event, onEvent)
  const beat = setInterval(() => {
    Atomics.add(beats, 0, 1)
    if (!stands) return
    stands = false
    log.warn('The event loop runs again.')
    onEnd()
  }, beatMs)
  beat.unref()
  const file = moduleBeside(import.meta.url, 'event-loop-watch-thread')
  const workerData: WatchSettings = { beats, stopping, event, effect, log: logSettings }
  const thread = new Worker(file, { ...lastingThread, workerData, name: 'watch of the event loop' })
  thread.on('error', (err) => log.warn({ err }, 'The event loop is no longer watched.'))
  thread.unref()
  return {
    ...watch,
    end() {
      clearInterval(beat)
      process.off(event, onEvent)
      void thread.terminate()
    },
  }
}

function sharedNumber(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

function logStandstill(log: Log, seconds: number, effect: string): void {
  const { owner, fields, at } = currentWork('The event loop stands still.')
  const cause =
    owner === undefined ? 'The event loop has been' : `The plugin "${owner.id}" has kept the event loop`
  log.fatal(
    { ...(owner !== undefined && { plugin: owner.id }), ...fields, seconds, err: at },
    `${cause} busy for ${seconds} s, ${effect}. From now on, a signal ends the process at once.`,
  )
}

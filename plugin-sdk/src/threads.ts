import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parentPort, Worker, type WorkerOptions, workerData } from 'node:worker_threads'

export { StreamThread, type StreamWork, workOnStreams } from './threads/stream-thread.ts'

/*
 * Work in threads of their own. comlink loses the codes of errors and knows no abort. piscina and tinypool keep a pool of equal
 * threads, and none of a task's own limits and progress: for one long task at a time, a thread is simpler.
 */

/** How a thread runs, and how to follow and stop it. */
export interface ThreadOptions<Order, Message> extends Pick<WorkerOptions, 'resourceLimits'> {
  /** A name for people who watch the process. */
  readonly name: string
  /** The data that the thread is started with: anything that `structuredClone` takes, and shared memory. */
  readonly order: Order
  /** Ends the thread when its event loop turns, or after two seconds. */
  readonly signal?: AbortSignal | undefined
  /** Takes what the thread sends before its answer. */
  readonly onMessage?: (message: Message) => void
  /** Options of Node in place of those of the process. `[]` starts a thread faster that imports no packages. */
  readonly execArgv?: string[]
}

/**
 * Options of a thread that runs as long as the node. V8 makes the young generation of a small heap smaller from the start (MEMORY.md,
 * "Lasting threads").
 */
export const lastingThread: Pick<WorkerOptions, 'resourceLimits'> = {
  resourceLimits: { maxOldGenerationSizeMb: 1024 },
}

/** The most milliseconds that a thread has to end when it is told to. */
const endMs = 2000

/**
 * Ends a thread between two turns of its event loop, and waits for its end. `Worker.terminate` alone may come while the thread makes a
 * stream of zlib, and then Node ends the whole process ("close before init"). It comes after two seconds, to a thread whose loop is blocked.
 *
 * @param request a message at which the thread calls `process.exit()`
 */
export async function endThread(thread: Worker, request: unknown): Promise<void> {
  // It has ended.
  if (thread.threadId === -1) return
  const ended = new Promise((resolve) => thread.once('exit', resolve))
  thread.postMessage(request)
  const timer = setTimeout(() => void thread.terminate(), endMs)
  await ended
  clearTimeout(timer)
}

/** Messages of {@link answerInThread}. */
type FromThread<Message, Answer> = { readonly message: Message } | { readonly answer: Answer }

/**
 * Returns the URL of a module beside another one, for threads and processes: with the extension of that one, which is `.ts` in the
 * sources and `.js` once compiled.
 *
 * @param name the path of the module without its extension
 * @example moduleBeside(import.meta.url, 'archive/read-thread')
 */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`${name}${extname(fileURLToPath(url))}`, url)
}

/**
 * Runs a module that calls {@link answerInThread} in a thread of its own, and returns its answer. The thread has ended when the
 * promise settles.
 *
 * @throws the error of the thread, with its code; the signal's reason; Error if the thread ends without an answer, or if a message of it
 *   cannot be read
 * @example await runInThread<Order, number, Result>(moduleBeside(import.meta.url, 'count-thread'), { name: 'count', order, onMessage })
 */
export async function runInThread<Order, Message, Answer>(
  module: URL,
  { order, signal, onMessage, ...options }: ThreadOptions<Order, Message>,
): Promise<Answer> {
  signal?.throwIfAborted()
  const thread = new Worker(module, { ...options, workerData: order })
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  thread.on('message', (sent: unknown) => {
    try {
      const from = Object(sent) as FromThread<Message, Answer>
      if ('answer' in from) resolve(from.answer)
      else if ('message' in from) onMessage?.(from.message)
      else
        throw new TypeError(`The thread "${options.name}" posted a message of its own, past answerInThread.`)
    } catch (error) {
      reject(error)
    }
  })
  thread.on('messageerror', (cause) =>
    reject(new Error(`A message of the thread "${options.name}" cannot be read here.`, { cause })),
  )
  thread.on('error', reject)
  thread.on('exit', () => reject(new Error(`The thread "${options.name}" ended without an answer.`)))
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', abort)
    await endThread(thread, null)
  }
}

/**
 * Answers {@link runInThread} with the result of `run`. Call it once, at the end of the thread's module, and await it: an error
 * then reaches the caller, with its name, message and code, but not its class.
 */
export async function answerInThread<Order, Message, Answer>(
  run: (order: Order, send: (message: Message) => void) => Answer | Promise<Answer>,
): Promise<void> {
  // The one message that is sent to the thread is that it ends.
  parentPort?.once('message', () => process.exit())
  parentPort?.unref()
  const post = (sent: FromThread<Message, Answer>) => parentPort?.postMessage(sent)
  post({ answer: await run(workerData, (message) => post({ message })) })
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { TrialNode, TrialRequest } from '../contracts/trials.ts'
import { type ChildEnd, ChildNode } from '../supervision/child-node.ts'
import type { ToParent } from '../supervision/messages.ts'

/** How a node on trial is started. */
export interface TrialNodeOptions {
  /** The absolute path of the program of the node. */
  readonly program: string
  /** The sources of its configuration, which the node understands. */
  readonly sources: unknown
  /** Ends the node, also during its start. */
  readonly signal: AbortSignal
}

/** A node that has not ended after this time is killed, in milliseconds. */
const graceMs = 10_000

/** Characters of standard error that are retained. */
const errorsLength = 4096

/**
 * Starts a node on trial in a process of its own, and waits until its API answers.
 *
 * @throws Error with one line if the node does not start; the signal's reason
 */
export async function startTrialNode(options: TrialNodeOptions): Promise<TrialNode> {
  if (process.platform === 'win32')
    return startProcess(options, `\\\\.\\pipe\\nodekeep-trial-${crypto.randomUUID()}`, null)
  // The path of a socket has at most 107 bytes, so it is not in the data folder.
  const temporary = await mkdtemp(join(tmpdir(), 'nodekeep-trial-'))
  const remove = () => rm(temporary, { recursive: true, force: true })
  try {
    const trial = await startProcess(options, join(temporary, 's'), temporary)
    trial.exited.then(remove)
    return trial
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * @param socket the path of its socket
 * @param temporary a folder that the process removes at its end, in case that its parent is gone then
 */
async function startProcess(
  { program, sources, signal }: TrialNodeOptions,
  socket: string,
  temporary: string | null,
): Promise<TrialNode> {
  const child = fork(program, ['start', '--trial', socket, '--configured-by-parent'], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // Two processes cannot wait for a debugger at one port.
    execArgv: process.execArgv.filter((option) => !option.startsWith('--inspect')),
  })
  const started = Promise.withResolvers<void>()
  const trial = new TrialProcess(child, socket, ({ nodekeep }) => {
    if (nodekeep === 'configure') trial.configure(sources, temporary)
    if (nodekeep === 'on trial') started.resolve()
  })
  const end = () => trial.end()
  signal.addEventListener('abort', end)
  trial.exited.then(() => signal.removeEventListener('abort', end))
  trial.exited.then(() => started.reject(signal.aborted ? signal.reason : new Error(trial.endReason)))
  await started.promise
  return trial
}

class TrialProcess implements TrialNode {
  readonly exited: Promise<void>
  readonly #child: ChildNode
  readonly #socket: string
  /** A request for each small file would otherwise need a connection of its own. */
  readonly #agent = new Agent({ keepAlive: true })
  readonly #tokens = new Map<string, PromiseWithResolvers<string>>()
  #errors = ''
  #end: ChildEnd | null = null

  constructor(child: ChildProcess, socket: string, onMessage: (message: ToParent) => void) {
    this.#socket = socket
    this.#child = new ChildNode(child, (message) => {
      if (message.nodekeep === 'session') this.#receive(message.user, message.token)
      onMessage(message)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-errorsLength)
    })
    // The event `close` of a process does not come after `disconnect()`.
    const closed = child.stderr === null ? null : once(child.stderr, 'close')
    this.exited = this.#child.ended.then(async (end) => {
      this.#end = end
      if (end.error === null) await closed
      this.#agent.destroy()
      for (const { reject } of this.#tokens.values()) reject(new TypeError(this.endReason))
    })
    try {
      // With the lowest priority, a busy machine would hardly run it at all.
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // It has ended already, or the system does not allow it.
    }
  }

  /** The reason why the process has ended, in one line. */
  get endReason(): string {
    const words = this.#errors.split('nodekeep: ').at(-1) ?? ''
    const line = words
      .replace(/Add --verbose.*/, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
    if (line !== '') return line
    const { code = null, signal = null, error = null } = this.#end ?? {}
    return error?.message ?? `The node on trial ended with ${signal ?? `the code ${code}`}.`
  }

  configure(sources: unknown, temporary: string | null): void {
    this.#child.send({ nodekeep: 'configuration', sources, temporary })
  }

  async fetch(path: string, { as: user, ...init }: TrialRequest = {}): Promise<Response> {
    const { body, headers, method, signal, url } = new Request(new URL(path, 'http://localhost'), {
      ...init,
      ...(init.body && { duplex: 'half' }),
    })
    if (user !== undefined) headers.set('authorization', `Bearer ${await this.#tokenOf(user)}`)
    const { pathname, search } = new URL(url)
    const sent = request({
      socketPath: this.#socket,
      agent: this.#agent,
      path: pathname + search,
      method,
      headers: { ...Object.fromEntries(headers), host: 'localhost' },
      signal,
    })
    try {
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>
      if (body === null) sent.end()
      // An early answer ends the request before its body, and then counts.
      else pipeline(Readable.fromWeb(body as ReadableStream), sent).catch(() => {})
      const [answer] = await answered
      return responseOf(answer)
    } catch (error) {
      signal.throwIfAborted()
      throw new TypeError('The node on trial cannot be reached.', { cause: error })
    }
  }

  async stop(): Promise<void> {
    this.end()
    await this.exited
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Lets the node end; it ends when the channel is closed. */
  end(): void {
    this.#child.disconnect()
    void this.#child.endsWithin(graceMs)
  }

  #tokenOf(user: string): Promise<string> {
    const known = this.#tokens.get(user)
    if (known !== undefined) return known.promise
    const asked = Promise.withResolvers<string>()
    this.#tokens.set(user, asked)
    if (!this.#child.send({ nodekeep: 'session', user })) asked.reject(new TypeError(this.endReason))
    return asked.promise
  }

  #receive(user: string, token: string | null): void {
    const asked = this.#tokens.get(user)
    if (token !== null) asked?.resolve(token)
    else asked?.reject(new TypeError(`The node on trial has no user ${user}.`))
  }
}

function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 0
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const hasBody = ![204, 205, 304].includes(status)
  if (!hasBody) answer.resume()
  return new Response(hasBody ? (Readable.toWeb(answer) as unknown as globalThis.ReadableStream) : null, {
    status,
    headers,
  })
}

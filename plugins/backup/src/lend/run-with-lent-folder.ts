import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { CommandContext, NodeClient } from '@nodekeep/plugin-sdk'

/** The arguments of a program get the path of the view in place of this. */
const placeholder = '{}'

/** Signals that are passed on to the program. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program with a view of the node at one moment, and gives the view back when it has ended. The node takes the view back by
 * itself if this process is killed.
 *
 * @returns the exit code of the program; 128 and the number of the signal that ended it
 * @throws Error of one line if there is no view or no program
 */
export async function runWithLentFolder(
  node: NodeClient,
  { args, options, signal }: Pick<CommandContext, 'args' | 'options' | 'signal'>,
): Promise<number> {
  if (!args.slice(1).some((argument) => argument.includes(placeholder))) {
    throw new Error(
      'The command needs {} where the path of the folder belongs, such as: nodekeep backup moment -- restic backup {}',
    )
  }
  const left = new AbortController()
  const view = await borrowView(node, options.copy === true, signal, left)
  try {
    signal.throwIfAborted()
    const [program = '', ...rest] = args.map((argument) => argument.replaceAll(placeholder, view.path))
    return await runProgram(program, rest, view.ended)
  } finally {
    // The session may have ended after a long time. The end of the connection does the same, but does not wait.
    await node.fetch('/api/backup/moment', { method: 'DELETE' }).catch(() => {})
    left.abort()
  }
}

interface BorrowedView {
  readonly path: string
  /** Resolves when the node takes the view back. */
  readonly ended: Promise<void>
}

/** @param signal ends the wait for the view; after that, only `left` ends the loan */
async function borrowView(
  node: NodeClient,
  copies: boolean,
  signal: AbortSignal,
  left: AbortController,
): Promise<BorrowedView> {
  signal.throwIfAborted()
  const stop = () => left.abort(signal.reason)
  signal.addEventListener('abort', stop)
  try {
    const response = await node.fetch(`/api/backup/moment?copies=${copies}`, {
      method: 'POST',
      signal: left.signal,
    })
    if (!response.ok || response.body === null) {
      throw new Error(((await response.json()) as { message?: string }).message)
    }
    const events = eventsOf(Readable.fromWeb(response.body as ReadableStream))
    const { value } = await events.next()
    if (value === undefined) throw new Error('The node ended before the view was complete.')
    const { path, message } = JSON.parse(value) as { path?: string; message?: string }
    if (path === undefined) throw new Error(message)
    const ended = events.next().then(
      () => {},
      () => {},
    )
    return { path, ended }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The data of server-sent events, which have one line each. */
async function* eventsOf(body: Readable): AsyncGenerator<string, void, undefined> {
  for await (const line of createInterface({ input: body })) {
    if (line.startsWith('data: ')) yield line.slice('data: '.length)
  }
}

async function runProgram(program: string, args: readonly string[], ended: Promise<void>): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit' })
  const passOn = passSignals(child)
  let isTaken = false
  ended.then(() => {
    isTaken = true
    child.kill('SIGTERM')
  })
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    if (isTaken) throw new Error('The node ended and took the folder back, so the command was stopped.')
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES') {
      const why = code === 'ENOENT' ? 'there is no such program' : 'it is no program that you may run'
      throw new Error(`"${program}" cannot be started: ${why}.`, { cause: error })
    }
    throw error
  } finally {
    passOn.end()
  }
}

/** Passes signals on to a program. A terminal sends Ctrl+C to the program itself. */
function passSignals(child: ChildProcess) {
  const passed = signals.map((signal) => {
    const pass = () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    process.on(signal, pass)
    return { signal, pass }
  })
  return {
    end() {
      for (const { signal, pass } of passed) process.off(signal, pass)
    },
  }
}

import { type ExecFileException, execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { type CommandOutput, messageOf } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PluginsOptions } from './plugins-options.ts'

/** A plugin, of the output of `nodekeep plugins list --json` and `nodekeep config check --deep --json`. */
export type DescribedPlugin = NodeAnswers['GET /api/system/plugins']['plugins'][number]

/** The output of `nodekeep config check --deep --json`. */
interface Checked {
  readonly problems: readonly string[]
  readonly blocked?: readonly { readonly id: string; readonly reason: string }[]
  readonly warnings?: readonly string[]
  readonly plugins?: readonly DescribedPlugin[]
}

/** A plugin may keep a check busy for ever. Nobody but a person can tell that from one that is slow. */
const limits = { timeout: 120_000, killSignal: 'SIGKILL', maxBuffer: 2 ** 24 } as const

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Returns the plugins of the configuration. */
export function listPlugins(options: PluginsOptions): Promise<readonly DescribedPlugin[]> {
  return ask(['plugins', 'list', '--json'], options)
}

/**
 * Starts the node on trial, in a process of its own: a plugin may end it. Ctrl+C ends the trial.
 *
 * @param output shows the messages of the trial while it goes on, such as that a plugin keeps its event loop busy
 * @returns the plugins as they have started, and the warnings of the start
 * @throws Error with what would fail
 */
export async function checkDeep(
  options: PluginsOptions,
  output: CommandOutput,
  id?: string,
): Promise<{ readonly plugins: readonly DescribedPlugin[]; readonly warnings: readonly string[] }> {
  const asProblem = (error: unknown): Checked => ({ problems: [messageOf(error)] })
  using watch = watchTrial(output)
  const checked = await ask<Checked>(['config', 'check', '--deep', '--json'], options, watch).catch(asProblem)
  const { problems, blocked = [], warnings = [], plugins = [] } = checked
  const waiting = blocked.filter((plugin) => plugin.id === id)
  const all = [...problems, ...waiting.map(({ reason }) => `"${id}" is blocked: ${reason}`)]
  if (all.length === 0) return { plugins, warnings }
  throw new Error(['The node does not start so. Nothing was changed.', ...all].join('\n  '))
}

/** Hears what a command of this node prints as errors, and ends it. */
interface Watch {
  readonly signal: AbortSignal
  readonly printed: (text: string) => void
}

/** Shows how long a trial takes, and what it prints while it goes on. Ctrl+C ends the trial alone, so that its command cleans up. */
function watchTrial(output: CommandOutput): Watch & Disposable {
  const aborted = new AbortController()
  const abort = () => aborted.abort()
  const line = output.progress('Trying')
  const begin = performance.now()
  let message = ''
  const tick = setInterval(() => {
    if (message !== '') {
      line.end()
      output.lines(message)
      message = ''
    }
    line.update((performance.now() - begin) / limits.timeout, 'Ctrl+C ends it.')
  }, 1000)
  for (const signal of signals) process.once(signal, abort)
  return {
    signal: aborted.signal,
    printed(text) {
      message = text.trim().split('\n')[0] ?? ''
    },
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, abort)
      clearInterval(tick)
      line.end()
    },
  }
}

/** Runs a command of this node. A command that finds problems fails, and prints them all the same. */
async function ask<T>(words: readonly string[], { config, data }: PluginsOptions, watch?: Watch): Promise<T> {
  const [, command = ''] = process.argv
  const given = [...(config === undefined ? [] : ['--config', config]), ...(data ? ['--data', data] : [])]
  const args = [...process.execArgv, command, ...words, ...given]
  const running = promisify(execFile)(process.execPath, args, { ...limits, signal: watch?.signal })
  const { child } = running
  if (watch !== undefined) child.stderr?.on('data', watch.printed)
  const { stdout, problem } = await running.then(
    (done) => ({ stdout: done.stdout, problem: '' }),
    (error) => ({
      stdout: String(error.stdout ?? ''),
      problem: failureOf(error),
    }),
  )
  // An aborted trial is told before its process has ended.
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    await once(child, 'exit')
  try {
    return JSON.parse(stdout) as T
  } catch {
    throw new Error(problem.replace(/^nodekeep: /, '').trim())
  }
}

function failureOf(error: unknown): string {
  const { code, killed, signal, stderr } = error as ExecFileException
  const printed = String(stderr ?? '')
  if (code === 'ABORT_ERR') return `The trial start was interrupted.\n${printed}`
  if (killed === true) return `The node did not start on trial within two minutes.\n${printed}`
  if (printed !== '') return printed
  return signal ? `The trial start was ended by ${signal}.` : messageOf(error)
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { SupervisorDescription } from '@nodekeep/plugin-sdk/supervision'
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

/** A plugin may keep a check busy for ever. */
const limits = { timeout: 120_000, killSignal: 'SIGKILL', maxBuffer: 2 ** 24 } as const

/** @throws Error with the problems of the configuration */
export async function dataFolder(options: PluginsOptions): Promise<string> {
  const described = await ask<SupervisorDescription | { readonly problems: readonly string[] }>(
    ['supervise', '--describe'],
    options,
  )
  if ('data' in described) return described.data
  throw new Error(described.problems.join('\n'))
}

/** Returns the plugins of the configuration. */
export function listPlugins(options: PluginsOptions): Promise<readonly DescribedPlugin[]> {
  return ask(['plugins', 'list', '--json'], options)
}

/**
 * Starts the node on trial, in a process of its own: a plugin may end it.
 *
 * @returns the plugins as they have started, and the warnings of the start
 * @throws Error with what would fail
 */
export async function checkDeep(
  options: PluginsOptions,
  id?: string,
): Promise<{ readonly plugins: readonly DescribedPlugin[]; readonly warnings: readonly string[] }> {
  const asProblem = (error: unknown): Checked => ({ problems: [messageOf(error)] })
  const checked = await ask<Checked>(['config', 'check', '--deep', '--json'], options).catch(asProblem)
  const { problems, blocked = [], warnings = [], plugins = [] } = checked
  const waiting = blocked.filter((plugin) => plugin.id === id)
  const all = [...problems, ...waiting.map(({ reason }) => `"${id}" is blocked: ${reason}`)]
  if (all.length === 0) return { plugins, warnings }
  throw new Error(['The node does not start so. Nothing was changed.', ...all].join('\n  '))
}

/** Runs a command of this node. A command that finds problems fails, and prints them all the same. */
async function ask<T>(words: readonly string[], { config, data }: PluginsOptions): Promise<T> {
  const [, command = ''] = process.argv
  const given = [...(config === undefined ? [] : ['--config', config]), ...(data ? ['--data', data] : [])]
  const args = [...process.execArgv, command, ...words, ...given]
  const { stdout, problem } = await promisify(execFile)(process.execPath, args, limits).then(
    (done) => ({ stdout: done.stdout, problem: '' }),
    (error) => ({
      stdout: String(error.stdout ?? ''),
      problem: failureOf(error),
    }),
  )
  try {
    return JSON.parse(stdout) as T
  } catch {
    throw new Error(problem.replace(/^nodekeep: /, '').trim())
  }
}

function failureOf(error: unknown): string {
  const { killed, signal, stderr } = error as { killed?: boolean; signal?: string | null; stderr?: unknown }
  const printed = String(stderr ?? '')
  if (killed === true) return `The node did not start on trial within two minutes.\n${printed}`
  if (printed !== '') return printed
  return signal ? `The trial start was ended by ${signal}.` : messageOf(error)
}

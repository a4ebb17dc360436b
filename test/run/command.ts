import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A running program with its output. */
export type Program = ChildProcessByStdio<null, Readable, Readable>

/**
 * Starts a program as a shell would. Within tests, tap adds options to the NODE_OPTIONS of all child processes; `env -u`
 * removes them again.
 */
export function startProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Program {
  const clean = ['-u', 'NODE_OPTIONS', program, ...args]
  return spawn('/usr/bin/env', clean, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Returns the environment of a tool of the repository: the PATH leads to the Node that runs this process. */
export function toolEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env.PATH]
  return { ...process.env, PATH: path.join(delimiter), ...env }
}

/** Starts a tool of the repository at its root, with further variables. */
export function startTool(tool: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Program {
  return startProgram(tool, args, { cwd: root, env: toolEnvironment(env) })
}

/** The outcome of a program. */
interface Outcome {
  readonly ok: boolean
  /** Its output on both streams, in the order of arrival. */
  readonly output: string
}

/** Waits for the end of a program and collects its output. */
export async function outcome(program: Program): Promise<Outcome> {
  let output = ''
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = await once(program, 'close')
  return { ok: code === 0, output }
}

/** Runs a tool of the repository to its end. */
export function runTool(tool: string, args: readonly string[]): Promise<Outcome> {
  return outcome(startTool(tool, args))
}

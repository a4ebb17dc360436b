import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A program that was started, and what it prints. */
export type Program = ChildProcessByStdio<null, Readable, Readable>

/**
 * Starts a program as a shell would. Within tests, tap adds to the NODE_OPTIONS of all child processes; `env` takes
 * that away again.
 */
export function startProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Program {
  const clean = ['-u', 'NODE_OPTIONS', program, ...args]
  return spawn('/usr/bin/env', clean, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Starts one of the repository's own tools at its root, with the Node that runs this and further variables. */
export function startTool(tool: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Program {
  const path = [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env.PATH]
  return startProgram(tool, args, { cwd: root, env: { ...process.env, PATH: path.join(delimiter), ...env } })
}

/** What a program came to. */
export interface Outcome {
  readonly ok: boolean
  /** What it printed on both streams, as it came. */
  readonly output: string
}

/** Waits for a program's end and keeps what it prints. */
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

/** Runs one of the repository's own tools to its end. */
export function runTool(tool: string, args: readonly string[]): Promise<Outcome> {
  return outcome(startTool(tool, args))
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Starts one of the repository's own tools at its root, whatever the machine has installed. */
export function startTool(tool: string, args: readonly string[]): ChildProcess {
  const path = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  return spawn(tool, args, {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a tool to its end and keeps what it printed. */
export async function runTool(
  tool: string,
  args: readonly string[],
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const child = startTool(tool, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  return { ok: code === 0, output }
}

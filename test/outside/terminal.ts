import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { root } from '../run/command.ts'

/** A node that was started in a terminal. */
export interface StartedNode {
  readonly url: URL
  /** Sends SIGINT, as Ctrl+C does, and waits. Resolves with the exit code. */
  stop(): Promise<number | null>
}

type Environment = Readonly<Record<string, string>>

/**
 * Runs a command line in a folder, as in a terminal without the environment of this repository.
 *
 * @returns the standard output
 * @throws an error with the whole output if the command fails
 */
export async function run(folder: string, command: string, environment: Environment = {}): Promise<string> {
  const child = open(folder, command, environment)
  const outputs = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'close')
  const [output, complaints] = await outputs
  if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${output}${complaints}`)
  return output
}

/** Runs a command line that starts a node, and waits until the node is ready. The end of the test stops the node. */
export async function start(
  t: Test,
  folder: string,
  command: string,
  environment: Environment = {},
): Promise<StartedNode> {
  const child = open(folder, command, environment)
  const ended = once(child, 'close')
  const stop = async () => {
    // The signal goes to the process group, as in a terminal: the command may be a launcher, with the node below it.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT')
    const [code] = await ended
    return code
  }
  t.teardown(stop)
  return { url: await readyUrl(child), stop }
}

function open(folder: string, command: string, environment: Environment) {
  // tap loads itself into every program that its tests start. Foreign programs must run without tap.
  return spawn('sh', ['-c', `unset NODE_OPTIONS; ${command}`], {
    cwd: folder,
    env: { ...foreignEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
}

/** Returns our environment without the variables of this repository, its tests and npm's scripts. */
function foreignEnvironment(): NodeJS.ProcessEnv {
  const own = /^(PORT|INIT_CWD|NODEKEEP_.*|npm_(package|lifecycle)_.*|npm_config_local_prefix)$/
  const kept = Object.entries(process.env).filter(([name]) => !own.test(name))
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.startsWith(root))
  return { ...Object.fromEntries(kept), PATH: [dirname(process.execPath), ...path].join(delimiter) }
}

function readyUrl(child: ChildProcess): Promise<URL> {
  const { promise, resolve, reject } = Promise.withResolvers<URL>()
  let output = ''
  const read = (chunk: string) => {
    output += chunk
    const found = /"url":"([^"]+)"/.exec(output)?.[1]
    if (found !== undefined) resolve(new URL(found))
  }
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', read)
  child.once('close', (code) => reject(new Error(`The node ended with ${code}:\n${output}`)))
  return promise
}

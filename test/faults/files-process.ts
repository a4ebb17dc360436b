import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The session of a signed-in user. It survives a restart of the node. */
export interface Session {
  readonly token: string
  readonly uuid: string
}

/** A node with files on the local disk, in a separate process. */
export interface FilesProcess {
  readonly url: URL
  readonly pid: number
  readonly session: Session
  /** Those of all users who signed in at this start. */
  readonly sessions: readonly Session[]
  /** Kills the node in the middle of its work. */
  kill(): Promise<void>
  /** Stops the node and waits until it has ended. */
  stop(): Promise<void>
}

const filesNode = new URL('fixtures/files-node.ts', import.meta.url)

/**
 * Starts a node. Rejects with the node's error output when it does not start; the cause is the signal that ended it.
 *
 * @param session from an earlier start on the same data. Without a session, a user signs in.
 * @param options.mount the path of a mount that is stored in the folder `mounted` of the data folder
 * @param options.backend `objects` for a mount whose folders do not move in one step
 * @param options.program the program of the node
 * @param options.environment more variables of the environment
 * @param options.killAfter milliseconds after which the node is killed
 */
export async function startFiles(
  dataFolder: string,
  session?: Session,
  {
    mount,
    backend = 'mounted',
    program = filesNode,
    environment = {},
    killAfter,
  }: {
    readonly mount?: string
    readonly backend?: 'mounted' | 'objects'
    readonly program?: URL
    readonly environment?: Readonly<Record<string, string>>
    readonly killAfter?: number
  } = {},
): Promise<FilesProcess> {
  // tap adds options that the node must not get.
  const { NODE_OPTIONS: _options, ...env } = process.env
  const signIn = session === undefined ? ['sign-in'] : ['']
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--conditions=nodekeep-source',
      fileURLToPath(program),
      dataFolder,
      ...signIn,
      ...(mount === undefined ? [] : [mount, backend]),
    ],
    {
      env: { ...env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(killAfter !== undefined && { timeout: killAfter, killSignal: 'SIGKILL' }),
    },
  )
  const ended = once(child, 'close')
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (child.stdout) createInterface(child.stdout).once('line', resolve)
  ended.then(([, cause]) => reject(new Error(`The node did not start:\n${errors}`, { cause })))
  const { url, sessions } = JSON.parse(await promise)
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await ended
  }
  return {
    url: new URL(url),
    pid: child.pid ?? 0,
    session: session ?? sessions[0],
    sessions,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

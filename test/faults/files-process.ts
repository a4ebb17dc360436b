import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Who is signed in to a node, also after it was started again. */
export interface Session {
  readonly token: string
  readonly uuid: string
}

/** A node with files on the local disk, in a process of its own. */
export interface FilesProcess {
  readonly url: URL
  readonly pid: number
  readonly session: Session
  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void>
  /** Lets it end by itself. */
  stop(): Promise<void>
}

const program = fileURLToPath(new URL('fixtures/files-node.ts', import.meta.url))

/**
 * Starts a node. It rejects with what was printed when the node doesn't come up.
 *
 * @param session of an earlier start on the same data; without it a user is signed in
 * @param mount the path of a second disk, which is the folder `mounted` of the data
 */
export async function startFiles(
  dataFolder: string,
  session?: Session,
  mount?: string,
): Promise<FilesProcess> {
  // Without the options that tap adds.
  const { NODE_OPTIONS: _options, ...env } = process.env
  const wish = session === undefined ? ['sign-in'] : ['']
  const child: ChildProcess = spawn(
    process.execPath,
    ['--conditions=nodekeep-source', program, dataFolder, ...wish, ...(mount === undefined ? [] : [mount])],
    { env, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const ended = once(child, 'close')
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (child.stdout) createInterface(child.stdout).once('line', resolve)
  ended.then(() => reject(new Error(`The node did not come up:\n${complaints}`)))
  const { url, token, uuid } = JSON.parse(await promise)
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await ended
  }
  return {
    url: new URL(url),
    pid: child.pid ?? 0,
    session: session ?? { token, uuid },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

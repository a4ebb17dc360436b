import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))
const preset = fileURLToPath(new URL('../../config/default.json', import.meta.url))

/** A node in a process of its own. */
interface ClaimableNode {
  readonly url: URL
  /** The output of the node at its start. */
  readonly banner: string
  stop(): Promise<void>
}

/**
 * Starts a node without an owner, or a node again on the data that it had. It is killed at the end of the test.
 *
 * @param folder an empty folder, or that of the node before
 * @param port 0 for any
 * @param further more variables of the environment
 * @param config the file of the configuration. Default: the default bundle
 */
export async function startClaimableNode(
  t: Test,
  folder: string,
  port: string,
  further: Readonly<Record<string, string>> = {},
  config = preset,
): Promise<ClaimableNode> {
  const { PATH, XDG_CACHE_HOME } = process.env
  const args = [
    '--conditions=nodekeep-source',
    cli,
    'start',
    '--config',
    config,
    '--data',
    folder,
    '--port',
    port,
  ]
  // A provider of models may be slow to answer, since other tests use both processors.
  const bundled = { NODEKEEP_BACKUP__DRILL: 'false', NODEKEEP_AI__MODELS__WAIT_MS: '30000' }
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH, XDG_CACHE_HOME, ...(config === preset && bundled), ...further },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  t.teardown(() => stop('SIGKILL'))
  child.stdout.resume()
  const banner = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text.includes('Stop it with Ctrl+C.')) resolve(text)
    })
    ended.then(() => reject(new Error(`The node ended: ${text}`)))
  })
  const address = /Address +(\S+)/.exec(banner)?.[1]
  if (address === undefined) throw new Error(`The banner has no address: ${banner}`)
  return { url: new URL(address), banner, stop: () => stop('SIGTERM') }
}

import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Plugin, parseWallet, type RestoreMove, type User } from '@nodekeep/plugin-sdk'
import { planRestore } from '../backup/restores.ts'
import { loadConfiguration } from '../configuration/configuration.ts'
import type { LogLevel } from '../log/levels.ts'
import { createLogger } from '../log/logger.ts'
import { Secrets } from '../log/secrets.ts'
import { type RunningNode, startNode } from '../node.ts'
import type { PluginDescription } from '../plugins/describe-plugin.ts'

/** The options of a test node. All are optional. */
export interface TestNodeOptions {
  /** Plugins to load, each under the id that it defines. */
  readonly plugins?: readonly Plugin[]
  /** The configuration, as in a file. It may name plugins of packages. Default: every user may sign in. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The folder that relative paths and packages of the configuration start at. Default: the working directory. */
  readonly folder?: string
  /** The data folder of an earlier test node. It is kept at the end, while a temporary folder is removed. */
  readonly dataFolder?: string
  /**
   * Folders with the entries of a backup, by the names of its participants. The node starts as after a restore: the plugins find
   * copies of them, and `restored` in their contexts.
   */
  readonly restored?: Readonly<Record<string, string>>
  /** Environment variables for `${NAME}` and `NODEKEEP_…`. Variables of the process are not used. */
  readonly environment?: Readonly<Record<string, string>>
  /** Called with each line of the log. Default: nothing is logged. */
  readonly onLog?: (line: string) => void
  readonly logLevel?: LogLevel
}

/** A user who is signed in to a test node. */
export interface TestUser {
  readonly user: User
  /** A session token. */
  readonly token: string
  /** Like the global `fetch`, with a path of the node and the user's session. */
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** A real node on a free port of the loopback interface. */
export interface TestNode {
  readonly url: URL
  readonly dataFolder: string
  /** Like the global `fetch`, with a path of the node and without a session. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Creates a user and signs them in. The `owner` is created once; further calls sign in the same user. */
  signIn(role?: 'user' | 'owner'): Promise<TestUser>
  plugins(): PluginDescription[]
  /** The code with which the first sign-in claims the node; `null` if the node has an owner. */
  claimCode(): string | null
  stop(): Promise<void>
}

/**
 * Starts a real node for a test: on a free port, with data in a temporary folder and with the given plugins. It rejects with
 * the error that `nodekeep start` would print.
 *
 * @example
 * const node = await createTestNode({ plugins: [notes], config: { notes: { limit: 3 } } })
 * t.after(() => node.stop())
 * const ada = await node.signIn()
 * const answer = await ada.fetch('/api/notes')
 */
export async function createTestNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const dataFolder = options.dataFolder ?? (await mkdtemp(join(tmpdir(), 'nodekeep-test-')))
  const removeData = async () => {
    if (options.dataFolder === undefined) await rm(dataFolder, { recursive: true, force: true })
  }
  try {
    await planEntries(options.restored ?? {}, dataFolder)
    return testNode(await boot(options, dataFolder), removeData)
  } catch (error) {
    await removeData()
    throw error
  }
}

/** Plans a restore of entries for the start of the node. A participant without entries has no folder, as after a real one. */
async function planEntries(restored: Readonly<Record<string, string>>, dataFolder: string): Promise<void> {
  const moves: RestoreMove[] = []
  for (const [name, folder] of Object.entries(restored)) {
    if ((await readdir(folder)).length === 0) continue
    const from = join(dataFolder, 'restore', 'test', name)
    await cp(folder, from, { recursive: true, preserveTimestamps: true })
    const previous = join(dataFolder, 'restore', 'previous', name)
    moves.push({ from, to: join(dataFolder, 'plugins', name, 'restored'), previous })
  }
  if (Object.keys(restored).length > 0)
    planRestore(dataFolder, { backup: 'test.tar.gz', takenAt: new Date(), moves })
}

async function boot(options: TestNodeOptions, data: string): Promise<RunningNode> {
  const configuration = await loadConfiguration({
    file: null,
    environment: options.environment ?? {},
    flags: { server: { port: 0 }, data },
    workingDirectory: options.folder ?? process.cwd(),
    inline: { ...options.config, auth: { admission: 'open', ...(options.config?.auth ?? {}) } },
  })
  const secrets = new Secrets()
  const { onLog } = options
  const log = createLogger({
    level: options.logLevel ?? (onLog === undefined ? 'silent' : 'info'),
    secrets,
    destination: { write: (line) => onLog?.(line) },
  })
  return startNode({ configuration, log, secrets, plugins: byId(options.plugins ?? []) })
}

function byId(plugins: readonly Plugin[]): Record<string, Plugin> {
  const found: Record<string, Plugin> = {}
  for (const plugin of plugins) {
    if (Object.hasOwn(found, plugin.id)) throw new TypeError(`Two of the plugins have the id "${plugin.id}".`)
    found[plugin.id] = plugin
  }
  return found
}

function randomWallet(): string {
  const wallet = parseWallet(`0x${randomBytes(20).toString('hex')}`)
  if (wallet === null) throw new Error('A random address was no address.')
  return wallet
}

function testNode(node: RunningNode, removeData: () => Promise<void>): TestNode {
  const fetchFrom = (path: string, init?: RequestInit) => fetch(new URL(path, node.url), init)
  return {
    url: node.url,
    dataFolder: node.dataFolder,
    fetch: fetchFrom,
    async signIn(role = 'user') {
      const owner = role === 'owner'
      const known = owner ? await node.accounts.owner() : null
      const user = known ?? (await node.accounts.ensure(randomWallet(), owner))
      const { token } = await node.issueSession({ userUuid: user.uuid, label: 'test', expiryDays: 1 })
      const withSession = (init: RequestInit = {}) => {
        const headers = new Headers(init.headers)
        headers.set('authorization', `Bearer ${token}`)
        return { ...init, headers }
      }
      return { user, token, fetch: (path, init) => fetchFrom(path, withSession(init)) }
    },
    plugins: () => node.plugins(),
    claimCode: () => node.claimCode(),
    async stop() {
      await node.stop()
      await removeData()
    },
  }
}

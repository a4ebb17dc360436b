import type { AddressInfo } from 'node:net'
import { type Plugin, type SessionStore, tokenKey, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import type { Logger } from 'pino'
import { bringUpPlugins } from './composition/bring-up-plugins.ts'
import { composeKernel } from './composition/compose.ts'
import { databaseSchema } from './composition/database-schema.ts'
import { createKernelApp } from './composition/kernel-app.ts'
import type { Configuration } from './configuration/index.ts'
import { watchFaults } from './faults/fault-context.ts'
import { guardRegistry } from './faults/guarded-registry.ts'
import { HttpServer } from './http/http-server.ts'
import type { Secrets } from './log/secrets.ts'
import { describePlugin, type PluginDescription } from './plugins/describe-plugin.ts'
import { type IssuedToken, issueSession, type NewSession } from './sessions/issue-session.ts'
import { Ownership } from './sign-in/ownership.ts'
import { openStateDatabase } from './state/database.ts'
import { lockDataFolder } from './state/lock.ts'
import { startHousekeeping } from './users/housekeeping.ts'
import { UserAccounts } from './users/user-accounts.ts'

/** What a node is started with. */
export interface NodeOptions {
  readonly configuration: Configuration
  readonly log: Logger
  /** What the logger keeps out of its lines. Secrets of the configuration are added to it. */
  readonly secrets: Secrets
  /** Plugins that are at hand and need no package, by id. */
  readonly plugins?: Readonly<Record<string, Plugin>>
  /** Ends a start that is under way, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** A node that listens. */
export interface RunningNode {
  /** Where the node can be reached from this machine. */
  readonly url: URL
  readonly dataFolder: string
  readonly accounts: UserAccounts
  /** The code with which the first sign-in claims the node; `null` when it has an owner. */
  claimCode(): string | null
  readonly sessions: SessionStore
  /** Makes a session of a user who needs no proof. */
  issueSession(session: NewSession): Promise<IssuedToken>
  plugins(): PluginDescription[]
  /** Lets requests finish, stops every plugin, and gives the data folder free. Calling it again waits for the same. */
  stop(): Promise<void>
}

type Step = () => unknown

/**
 * Starts a node: from the lock on its data folder to the listening port.
 * When it rejects, nothing of the node is left.
 *
 * @throws ConfigurationError, BootFailure, or an Error with one line that says what to do
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  // What has to be undone, in the order in which it was done.
  const undo: Step[] = []
  try {
    return await boot(options, undo)
  } catch (error) {
    await unwind(undo, options.log)
    throw options.signal?.aborted === true ? options.signal.reason : error
  }
}

async function boot(options: NodeOptions, undo: Step[]): Promise<RunningNode> {
  const { configuration, log, secrets, plugins = {} } = options
  const { data, server } = configuration.kernel
  const lock = lockDataFolder(data)
  undo.push(() => lock.release())
  const database = await openStateDatabase(data, databaseSchema)
  undo.push(() => database.close())
  const accounts = new UserAccounts(database)
  const { ownership, change } = await Ownership.establish(database, accounts, configuration.kernel.auth.owner)
  if (change !== null) log.warn(change)
  if (ownership.claimCode !== null) secrets.add(ownership.claimCode)

  const { cradle } = composeKernel({
    configuration,
    log,
    secrets,
    database,
    accounts,
    ownership,
    inlinePlugins: plugins,
  })
  undo.push(watchFaults((thrown) => cradle.records.list.find((record) => record.isOriginOf(thrown))))
  undo.push(() => cradle.stateStores.close())
  undo.push(() => cradle.leases.close())
  const kernelApp = await createKernelApp(cradle)
  undo.push(() => kernelApp.close())

  undo.push(() => cradle.pluginHost.stopAll())
  await withSignal(options.signal, () => cradle.pluginHost.announceStop(), bringUpPlugins(cradle))

  const httpServer = new HttpServer({
    table: cradle.routeTable,
    unmatched: kernelApp.handle,
    nextRequestId: cradle.nextRequestId,
    headersTimeoutMs: server.headersTimeoutSeconds * 1000,
    keepAliveTimeoutMs: server.keepAliveTimeoutSeconds * 1000,
    stallTimeoutMs: server.stallTimeoutSeconds * 1000,
    maxConnections: server.maxConnections,
  })
  undo.push(() => {
    cradle.pluginHost.announceStop()
    return httpServer.close(server.drainSeconds * 1000)
  })
  undo.push(cradle.sessionWatch.start())
  const address = await listen(httpServer, server.host, server.port)
  undo.push(
    startHousekeeping({
      database,
      log,
      sessions: cradle.sessions,
      holders: guardRegistry<UserDataHolder>(cradle.registries.entries(tokenKey(UserData))),
      absentPlugins: () =>
        cradle.records.list.filter(({ wish, isUp }) => wish.enabled && !isUp).map(({ id }) => id),
    }),
  )

  let stopping: Promise<void> | null = null
  return {
    url: urlOf(address),
    dataFolder: data,
    accounts,
    claimCode: () => ownership.claimCode,
    sessions: cradle.sessions,
    issueSession: (session) => database.transaction((sql) => issueSession(sql, session)),
    plugins: () => cradle.pluginHost.records.map((record) => describePlugin(record, cradle.routeTable)),
    stop() {
      stopping ??= unwind(undo, log)
      return stopping
    },
  }
}

/** Waits for work that `giveUp` cuts short when the signal is aborted meanwhile. */
async function withSignal(signal: AbortSignal | undefined, giveUp: Step, work: Promise<void>): Promise<void> {
  signal?.addEventListener('abort', giveUp)
  try {
    await work
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
  signal?.throwIfAborted()
}

async function listen(server: HttpServer, host: string, port: number): Promise<AddressInfo> {
  try {
    return await server.listen(host, port)
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, host, port), { cause: error })
  }
}

function listenProblem({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Stop the program that has it, or choose another one with --port.`
    case 'EACCES':
      return `The node may not listen on port ${port}. Choose one above 1023 with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address "${host}". Choose another one with --host.`
    default:
      return `The node cannot listen on ${host}, port ${port}: ${message}`
  }
}

/** An address to write into a browser: that of a wildcard is this machine's own. */
function urlOf({ address, family, port }: AddressInfo): URL {
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return new URL(`http://${family === 'IPv6' && host !== 'localhost' ? `[${host}]` : host}:${port}`)
}

/** Undoes in reverse. A step that fails is logged and keeps none of the others from being taken. */
async function unwind(undo: Step[], log: Logger): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    try {
      await step()
    } catch (error) {
      log.error({ err: error }, 'A step of stopping the node failed.')
    }
  }
}

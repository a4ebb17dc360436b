import type { AddressInfo } from 'node:net'
import { type Plugin, type SessionStore, tokenKey, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import type { Logger } from 'pino'
import { composeKernel } from './composition/compose.ts'
import { databaseSchema } from './composition/database-schema.ts'
import { createKernelApp } from './composition/kernel-app.ts'
import type { Configuration } from './configuration/configuration.ts'
import { watchFaults } from './faults/fault-context.ts'
import { guardRegistry } from './faults/guarded-registry.ts'
import { HttpServer } from './http/http-server.ts'
import type { Secrets } from './log/secrets.ts'
import { describePlugin, type PluginDescription } from './plugins/describe-plugin.ts'
import { startPlugins } from './plugins/start-plugins.ts'
import { type IssuedToken, issueSession, type NewSession } from './sessions/issue-session.ts'
import { Ownership } from './sign-in/ownership.ts'
import { openStateDatabase } from './state/database.ts'
import { lockDataFolder } from './state/lock.ts'
import { startHousekeeping } from './users/housekeeping.ts'
import { UserAccounts } from './users/user-accounts.ts'

/** The inputs of a start. */
export interface NodeOptions {
  readonly configuration: Configuration
  readonly log: Logger
  /** The secrets that the logger removes from its lines. Secrets of the configuration are added to them. */
  readonly secrets: Secrets
  /** Plugins that need no package, by id. */
  readonly plugins?: Readonly<Record<string, Plugin>>
  /** Aborts a start in progress, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** A node that is listening. */
export interface RunningNode {
  /** The address of the node on this machine. */
  readonly url: URL
  readonly dataFolder: string
  readonly accounts: UserAccounts
  /** The code for the first sign-in, which claims the node; `null` when the node has an owner. */
  claimCode(): string | null
  readonly sessions: SessionStore
  /** Creates a session for a user without a sign-in. */
  issueSession(session: NewSession): Promise<IssuedToken>
  plugins(): PluginDescription[]
  /** Lets requests finish, stops every plugin, and unlocks the data folder. A second call waits for the first. */
  stop(): Promise<void>
}

/**
 * Starts a node: from the lock on its data folder to the listening port.
 * When it rejects, everything that was started has been stopped.
 *
 * @throws ConfigurationError, BootFailure, or an Error with one line that says what to do
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const started = new AsyncDisposableStack()
  try {
    return await boot(options, started)
  } catch (error) {
    await undo(started, options.log)
    throw options.signal?.aborted === true ? options.signal.reason : error
  }
}

async function boot(options: NodeOptions, started: AsyncDisposableStack): Promise<RunningNode> {
  const { configuration, log, secrets, plugins = {} } = options
  const { data, server } = configuration.kernel
  const lock = lockDataFolder(data)
  started.defer(() => lock.release())
  const database = await openStateDatabase(data, databaseSchema)
  started.defer(() => database.close())
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
  started.defer(watchFaults((thrown) => cradle.records.all.find((record) => record.isOriginOf(thrown))))
  started.defer(() => cradle.stateStores.close())
  started.defer(() => cradle.leases.close())
  const kernelApp = await createKernelApp(cradle)
  started.defer(() => kernelApp.close())

  started.defer(() => cradle.pluginHost.stopAll())
  await withSignal(options.signal, () => cradle.pluginHost.announceStop(), startPlugins(cradle))

  const httpServer = new HttpServer({
    table: cradle.routeTable,
    unmatched: kernelApp.handle,
    nextRequestId: cradle.nextRequestId,
    headersTimeoutMs: server.headersTimeoutSeconds * 1000,
    keepAliveTimeoutMs: server.keepAliveTimeoutSeconds * 1000,
    stallTimeoutMs: server.stallTimeoutSeconds * 1000,
    maxConnections: server.maxConnections,
  })
  started.defer(() => {
    cradle.pluginHost.announceStop()
    return httpServer.close(server.drainSeconds * 1000)
  })
  started.defer(cradle.sessionWatch.start())
  const address = await listen(httpServer, server.host, server.port)
  started.defer(
    startHousekeeping({
      database,
      log,
      sessions: cradle.sessions,
      holders: guardRegistry<UserDataHolder>(cradle.registries.entries(tokenKey(UserData))),
      absentPlugins: () =>
        cradle.records.all.filter(({ entry, isUp }) => entry.enabled && !isUp).map(({ id }) => id),
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
    plugins: () => cradle.records.all.map((record) => describePlugin(record, cradle.routeTable)),
    stop() {
      stopping ??= undo(started, log)
      return stopping
    },
  }
}

/** Waits for work. If the signal is aborted meanwhile, `abort` ends the work early. */
async function withSignal(
  signal: AbortSignal | undefined,
  abort: () => void,
  work: Promise<void>,
): Promise<void> {
  signal?.addEventListener('abort', abort)
  try {
    await work
  } finally {
    signal?.removeEventListener('abort', abort)
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
      return `Port ${port} of ${host} is in use. Stop the program that uses it, or choose another port with --port.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose a port above 1023 with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address "${host}". Choose another address with --host.`
    default:
      return `The node cannot listen on ${host}, port ${port}: ${message}`
  }
}

/** Returns a URL for a browser on this machine. For a wildcard address it names `localhost`. */
function urlOf({ address, family, port }: AddressInfo): URL {
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return new URL(`http://${family === 'IPv6' && host !== 'localhost' ? `[${host}]` : host}:${port}`)
}

/** Undoes the steps of a start in reverse order. A step that fails is logged, and the others run all the same. */
async function undo(started: AsyncDisposableStack, log: Logger): Promise<void> {
  try {
    await started.disposeAsync()
  } catch (error) {
    for (const err of failuresIn(error)) log.error({ err }, 'A step of stopping the node failed.')
  }
}

/** A stack reports several failures as one chain, with the latest failure outermost. */
function failuresIn(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [...failuresIn(error.suppressed), error.error] : [error]
}

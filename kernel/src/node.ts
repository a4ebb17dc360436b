import type { BoundSocket } from 'node:net'
import { type Plugin, type SupervisorLink, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { lockDataFolder, makeReserve, releaseReserve } from '@nodekeep/plugin-sdk/data-folder'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { Logger } from 'pino'
import { applyPlannedRestore, readLastRestore } from './backup/restores.ts'
import { removeLeftCopies } from './backup/state-in-backups.ts'
import { composeKernel } from './composition/compose.ts'
import { createKernelApp } from './composition/kernel-app.ts'
import { openState } from './composition/open-state.ts'
import type { Configuration } from './configuration/configuration.ts'
import { watchFaults } from './faults/fault-context.ts'
import { HttpServer } from './http/http-server.ts'
import { bindPort, listen, listenOnSocket, urlOf } from './http/listen.ts'
import type { Secrets } from './log/secrets.ts'
import { describePlugin, type PluginDescription } from './plugins/describe-plugin.ts'
import { letPluginsServe, startPlugins } from './plugins/start-plugins.ts'
import { type IssuedToken, issueSession, type NewSession } from './sessions/issue-session.ts'
import type { SessionTable } from './sessions/session-table.ts'
import { Ownership } from './sign-in/ownership.ts'
import { contractionsSince } from './state/contractions.ts'
import { announceAddress } from './state/running-node.ts'
import { readNodeInfo } from './system/node-info.ts'
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
  /** The supervisor that runs the node. */
  readonly supervisor?: SupervisorLink | null
  /** A bound socket to listen on, or its descriptor. Default: the configured address is bound when the node listens. */
  readonly socket?: BoundSocket | number | null
  /** Aborts a start in progress, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** A node on trial: everything is started, but only its parent can reach it, and nothing that leaves a trace has begun. */
interface TrialNode {
  plugins(): PluginDescription[]
  /** Creates a session for a user without a sign-in. */
  issueSession(session: NewSession): Promise<IssuedToken>
  /** Runs the health checks again. */
  health(): Promise<{ readonly serving: boolean; readonly failing: readonly string[] }>
  /** Returns the migrations that this start has run and that an earlier version cannot undo, by name. */
  contractions(): Promise<string[]>
  /**
   * Lets traffic in: listens as configured, then tells the plugins. Call it once.
   *
   * @throws BootFailure, or an Error with one line that says what to do; the node has stopped then
   */
  admit(): Promise<RunningNode>
  /** Stops every plugin and unlocks the data folder. A second call waits for the first. */
  stop(): Promise<void>
}

/** A node that is listening. */
export interface RunningNode {
  /** The address of the node on this machine. */
  readonly url: URL
  /** The IP address that the node listens on. `0.0.0.0` and `::` are all addresses of the machine. */
  readonly listensOn: string
  /** The names and addresses of the machine on its networks at which the node takes sign-ins. */
  readonly hostnames: readonly string[]
  /** The origins under which clients reach the node from outside. */
  publicOrigins(): string[]
  readonly dataFolder: string
  readonly accounts: UserAccounts
  /** The code for the first sign-in, which claims the node; `null` when the node has an owner. */
  claimCode(): string | null
  readonly sessions: SessionTable
  /** Whether something answers `GET /`, such as pages for people. */
  hasPages(): boolean
  /** Creates a session for a user without a sign-in. */
  issueSession(session: NewSession): Promise<IssuedToken>
  plugins(): PluginDescription[]
  /** Resolves with the reason when a plugin asks to start the node again. Stop it then, and end with `exitCodes.restart`. */
  readonly restartRequested: Promise<string>
  /** Serves until no request is in work, such as an upload. Answers that stream do not count. */
  waitForRequests(waitMs: number, signal: AbortSignal): Promise<void>
  /**
   * Lets requests finish, stops every plugin, and unlocks the data folder. A second call waits for the first.
   *
   * @param drainMs the maximum time for requests. Default: `server.drainSeconds`
   */
  stop(drainMs?: number): Promise<void>
}

/** The exit codes of the process of a node. They are a contract with service managers. */
export const exitCodes = {
  /** The node was asked to stop. */
  stopped: 0,
  /** The node cannot start. A fault that ends a running node has the same code. */
  cannotStart: 1,
  /** Start the node again (`EX_TEMPFAIL` of sysexits.h). */
  restart: 75,
} as const

/**
 * Starts a node: from the lock on its data folder to the listening port.
 * When it rejects, everything that was started has been stopped.
 *
 * @throws ConfigurationError, BootFailure, or an Error with one line that says what to do
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const trial = await startOnTrial(options, null)
  return trial.admit()
}

/**
 * Starts a node on trial. Its whole API answers on a socket that only the user of this process can open.
 * When it rejects, everything that was started has been stopped.
 *
 * @param socket the path of a Unix domain socket to make, or the name of a pipe on Windows; `null` for none
 * @throws ConfigurationError, BootFailure, or an Error with one line that says what to do
 */
export async function startOnTrial(options: NodeOptions, socket: string | null): Promise<TrialNode> {
  const started = new AsyncDisposableStack()
  return undoOnFailure(options, started, () => boot(options, started, socket))
}

async function undoOnFailure<T>(
  { log, signal }: NodeOptions,
  started: AsyncDisposableStack,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    await undo(started, log)
    throw signal?.aborted === true ? signal.reason : error
  }
}

async function boot(
  options: NodeOptions,
  started: AsyncDisposableStack,
  socket: string | null,
): Promise<TrialNode> {
  const { configuration, log, secrets, plugins = {}, supervisor = null } = options
  const began = new Date().toISOString()
  const { data, server } = configuration.kernel
  await releaseReserve(data)
  const reading = readNodeInfo()
  const lock = lockDataFolder(data)
  started.defer(() => lock.release())
  removeLeftCopies(data)
  const backup = applyPlannedRestore(data)
  if (backup !== null) log.warn({ backup }, 'The node was restored from a backup.')
  const lastRestore = readLastRestore(data)
  const database = await openState(configuration)
  started.defer(() => database.close())
  const accounts = new UserAccounts(database)
  const ownership = await Ownership.establish(database, accounts, configuration.kernel.auth.owner)
  if (ownership.change !== null) log.warn(ownership.change)
  if (ownership.claimCode !== null) secrets.add(ownership.claimCode)

  const cradle = composeKernel({
    configuration,
    log,
    info: await reading,
    secrets,
    database,
    accounts,
    ownership,
    inlinePlugins: plugins,
    lastRestore,
    supervisor,
  })
  started.defer(watchFaults((thrown, context) => cradle.records.originOf(thrown, context)))
  started.defer(() => cradle.stateStores.close())
  started.defer(() => cradle.databaseSnapshots.close())
  started.defer(() => cradle.trials.close())
  const kernelApp = await createKernelApp(cradle)
  started.defer(() => kernelApp.close())

  started.defer(() => cradle.pluginHost.stopAll())
  const announceStop = () => cradle.pluginHost.announceStop()
  await withSignal(options.signal, announceStop, startPlugins(cradle))

  let drainMs = server.drainSeconds * 1000
  const createServer = () => {
    const httpServer = new HttpServer({
      table: cradle.routeTable,
      unmatched: kernelApp.routing,
      nextRequestId: cradle.nextRequestId,
      settings: server,
    })
    cradle.connections.add(httpServer)
    started.defer(() => {
      announceStop()
      return httpServer.close(drainMs)
    })
    return httpServer
  }
  started.defer(cradle.sessionWatch.start())
  if (socket !== null) await listenOnSocket(createServer(), socket)

  let stopping: Promise<void> | null = null
  const describePlugins = () => cradle.records.all.map((record) => describePlugin(record, cradle.routeTable))
  const issue = (session: NewSession) => database.transaction((sql) => issueSession(sql, session))
  const stop = (limitMs = drainMs) => {
    drainMs = limitMs
    stopping ??= undo(started, log)
    return stopping
  }

  async function admit(): Promise<RunningNode> {
    await makeReserve(data)
    // The command line may have made somebody the owner during a trial.
    if ((await accounts.owner()) !== null) ownership.claimed()
    cradle.health.admitTraffic()
    await cradle.storeScopes()
    const httpServer = createServer()
    const bound = options.socket ?? (await bindPort(server.host, server.port))
    const address = await listen(httpServer, server, bound)
    if (server.port !== 0 && address.port !== server.port) {
      log.warn(
        `The node listens on the port ${address.port}, which was passed to it. The port of the configuration, ${server.port}, holds after a restart of the service.`,
      )
    }
    cradle.connections.serveBy(httpServer)
    started.defer(await cradle.clock.start())
    started.defer(
      startHousekeeping({
        database,
        log,
        sessions: cradle.sessions,
        idleDays: cradle.userSessions.idleDays,
        clock: cradle.clock,
        makeReserve: () => makeReserve(data),
        holders: cradle.registries.entries<UserDataHolder>(tokenKey(UserData)),
        absentPlugins: () => cradle.records.absent,
      }),
    )
    const url = urlOf(address)
    cradle.nodeOrigins.listensAt(url)
    started.defer(announceAddress(data, lock, url, log))
    await withSignal(options.signal, announceStop, letPluginsServe(cradle))
    return {
      url,
      listensOn: address.address,
      hostnames: server.hostnames,
      publicOrigins: () => cradle.nodeOrigins.publicOrigins(),
      dataFolder: data,
      accounts,
      claimCode: () => ownership.claimCode,
      sessions: cradle.sessions,
      hasPages: () => cradle.routeTable.find('GET', '/') !== null,
      issueSession: issue,
      plugins: describePlugins,
      waitForRequests: (waitMs, signal) => httpServer.waitForRequests(waitMs, signal),
      restartRequested: cradle.nodeRestart.restartRequested,
      stop,
    }
  }
  return {
    plugins: describePlugins,
    issueSession: issue,
    async health() {
      const { serving, findings } = await cradle.health.status()
      const checks = Object.entries(findings).filter(([, { ok }]) => !ok)
      const down = cradle.records.impaired.filter(({ entry }) => entry.required)
      return {
        serving: serving && down.length === 0,
        failing: [
          ...checks.map(([name, { state }]) => `the check "${name}" says ${state}`),
          ...down.map(({ id, state }) => `the plugin "${id}" is ${state}`),
        ],
      }
    },
    contractions: () => database.use((sql) => contractionsSince(sql, began)),
    admit: () => undoOnFailure(options, started, admit),
    stop,
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

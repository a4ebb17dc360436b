import { join } from 'node:path'
import {
  BackupParticipants,
  Connections,
  type HealthCheck,
  HealthChecks,
  type Log,
  type LoginProvider,
  LoginProviders,
  NodeAddress,
  NodeHealth,
  NodeIdentity,
  NodeInfo,
  NodeRestart,
  type NodeRestores,
  type NodeSupervisor,
  type Plugin,
  PublicOrigins,
  Restores,
  Supervisor,
  type SupervisorLink,
  Tokens,
  Trials,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { releaseForDeletions } from '@nodekeep/plugin-sdk/data-folder'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { asFunction, asValue, createContainer, InjectionMode } from 'awilix/browser'
import type { Logger } from 'pino'
import { createAccessCheck } from '../access/access-check.ts'
import { Admission } from '../access/admission.ts'
import { Authenticator } from '../access/authenticator.ts'
import { NodeOrigins } from '../access/node-origins.ts'
import { SessionCookies } from '../access/session-cookies.ts'
import { SessionWatch } from '../access/session-watch.ts'
import { tokenPresentations } from '../access/token-presentations.ts'
import { kernelParticipants } from '../backup/kernel-participants.ts'
import type { LastRestore } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { createPluginLog } from '../faults/plugin-log.ts'
import { Health } from '../health/health-report.ts'
import { NodeClock } from '../health/node-clock.ts'
import { pluginsHealth } from '../health/plugins-health.ts'
import { type App, createApp } from '../http/create-app.ts'
import { KernelConnections } from '../http/kernel-connections.ts'
import { createNotFound } from '../http/not-found.ts'
import { RefusalLog } from '../http/refusal-log.ts'
import { RouteTable } from '../http/route-table.ts'
import { type AccessCheck, createRequestIds, type OnAdmitted } from '../http/shared-hooks.ts'
import type { Secrets } from '../log/secrets.ts'
import { PluginHost } from '../plugins/plugin-host.ts'
import { PluginRecords } from '../plugins/plugin-record.ts'
import { PluginSwitch } from '../plugins/plugin-switch.ts'
import { ServiceWiring } from '../plugins/service-wiring.ts'
import { KernelEventBus } from '../services/event-bus.ts'
import { Registries } from '../services/registry.ts'
import { storeKnownScopes } from '../sessions/known-scopes.ts'
import { idleDaysOf } from '../sessions/session-life.ts'
import { SessionTable } from '../sessions/session-table.ts'
import { UserSessions } from '../sessions/user-sessions.ts'
import type { Ownership } from '../sign-in/ownership.ts'
import { SignIn } from '../sign-in/sign-in.ts'
import { databaseHealth, type StateDatabase } from '../state/database.ts'
import { DatabaseSnapshots } from '../state/database-snapshots.ts'
import { StateStores } from '../state/state-stores.ts'
import { createNodeIdentity } from '../system/node-identity.ts'
import type { NodeBuild } from '../system/node-info.ts'
import { KernelNodeRestart } from '../system/node-restart.ts'
import { ownCommand } from '../system/own-command.ts'
import { KernelTrials } from '../trials/node-trials.ts'
import type { UserAccounts } from '../users/user-accounts.ts'
import { UserAdministration } from '../users/user-administration.ts'
import { createRestores } from './create-restores.ts'

/** The values that the kernel is composed from. */
interface KernelValues {
  readonly configuration: Configuration
  readonly log: Logger
  readonly info: NodeBuild
  readonly secrets: Secrets
  readonly database: StateDatabase
  readonly accounts: UserAccounts
  readonly ownership: Ownership
  /** Plugins that an embedding program passed and that need no package, by id. */
  readonly inlinePlugins: Readonly<Record<string, Plugin>>
  /** The last restore that was applied; `null` if there was none. */
  readonly lastRestore: LastRestore | null
  /** The supervisor that runs the node; `null` if there is none. */
  readonly supervisor: SupervisorLink | null
}

type KernelParts = { readonly [Name in keyof typeof parts]: ReturnType<(typeof parts)[Name]> }

/** Every part of the kernel, by name. Plugins never see it. */
export interface KernelCradle extends KernelValues, KernelParts {
  /** Returns the kernel's parts, and those of the plugin with this id. */
  readonly cradleOf: (plugin: string) => PluginCradle
}

interface PluginCradle extends KernelCradle {
  readonly pluginLog: Log
  readonly pluginDataDir: string
}

/** Makes the parts of the kernel. Their types must be written here: the type of the cradle is made of them. */
const parts = {
  // State, services and routes
  stateStores: (cradle: KernelCradle): StateStores => new StateStores(cradle.database, cradle.log),
  clock: (cradle: KernelCradle): NodeClock =>
    new NodeClock({
      state: cradle.stateStores.for('@kernel'),
      log: cradle.log,
      earliest: cradle.info.buildDate,
    }),
  restores: (cradle: KernelCradle): NodeRestores => createRestores(cradle.configuration),
  trials: (cradle: KernelCradle): KernelTrials => new KernelTrials(cradle.configuration),
  databaseSnapshots: (cradle: KernelCradle): DatabaseSnapshots =>
    new DatabaseSnapshots(cradle.configuration.kernel.data),
  identity: (cradle: KernelCradle): NodeIdentity => createNodeIdentity(cradle.configuration.kernel.data),
  eventBus: (): KernelEventBus => new KernelEventBus(),
  registries: createRegistries,
  services: createServices,
  routeTable: (): RouteTable => new RouteTable(),
  connections: (): KernelConnections => new KernelConnections(),
  nextRequestId: createRequestIds,
  nodeRestart: (cradle: KernelCradle): KernelNodeRestart =>
    new KernelNodeRestart(cradle.configuration.kernel.supervised || cradle.supervisor !== null),

  // Users, sessions and access
  sessions: (cradle: KernelCradle): SessionTable => new SessionTable(cradle.database),
  admission: (cradle: KernelCradle): Admission => new Admission(cradle.configuration.kernel.auth),
  authenticator: (cradle: KernelCradle): Authenticator =>
    new Authenticator(cradle.sessions, cradle.accounts, cradle.admission, {
      idleDays: idleDaysOf(cradle.configuration.kernel.session),
    }),
  sessionWatch: createSessionWatch,
  userSessions: createUserSessions,
  administration: createAdministration,
  /** Stores the scopes of the routes for the command line. */
  storeScopes:
    (cradle: KernelCradle): (() => Promise<void>) =>
    () =>
      storeKnownScopes(cradle.routeTable.scopes, cradle.stateStores.for('@kernel'), cradle.log),
  signIn: createSignIn,
  nodeOrigins: (cradle: KernelCradle): NodeOrigins =>
    new NodeOrigins(cradle.configuration.kernel.server, cradle.registries.entries(tokenKey(PublicOrigins))),
  sessionCookies: (cradle: KernelCradle): SessionCookies =>
    new SessionCookies(cradle.identity, cradle.nodeOrigins, cradle.log),
  checkAccess: (cradle: KernelCradle): AccessCheck =>
    createAccessCheck(cradle.authenticator, cradle.sessionCookies, cradle.sessionWatch, cradle.nodeOrigins),

  createApp: createAppFactory,
  health: (cradle: KernelCradle): Health =>
    new Health(
      cradle.registries.entries<HealthCheck>(tokenKey(HealthChecks)),
      cradle.configuration.kernel.health,
    ),

  // Plugins
  records: (): PluginRecords => new PluginRecords(),
  wiring: (cradle: KernelCradle): ServiceWiring =>
    new ServiceWiring(cradle.records, kernelServices, cradle.configuration.kernel.services),
  pluginHost: (cradle: KernelCradle): PluginHost => new PluginHost(cradle),
  pluginSwitch: (cradle: KernelCradle): PluginSwitch => new PluginSwitch(cradle),
}

/**
 * Composes the kernel of one node. Each part is made at its first use. No other file knows how the parts fit together.
 */
export function composeKernel(values: KernelValues): KernelCradle {
  const container = createContainer<KernelCradle>({ strict: true, injectionMode: InjectionMode.PROXY })
  const cradleOf = (id: string) => {
    const scope = container.createScope<PluginCradle>()
    scope.register({
      pluginLog: asValue(createPluginLog(values.log, id)),
      pluginDataDir: asValue(join(values.configuration.kernel.data, 'plugins', id)),
    })
    return scope.cradle
  }
  for (const [name, value] of Object.entries({ ...values, cradleOf }))
    container.register(name, asValue(value))
  for (const [name, make] of Object.entries<(cradle: KernelCradle) => object | null>(parts))
    container.register(name, asFunction(make).singleton())
  return container.cradle
}

/** The services that the kernel itself provides to plugins, by token key. */
const kernelServiceParts: Readonly<Record<string, (cradle: KernelCradle) => unknown>> = {
  [tokenKey(UserDirectory)]: ({ accounts }) => accounts,
  [tokenKey(Restores)]: ({ restores }) => restores,
  [tokenKey(Supervisor)]: ({ supervisor, configuration }): NodeSupervisor => ({
    link: supervisor,
    configurationFiles: configuration.files,
  }),
  [tokenKey(Trials)]: ({ trials }) => trials,
  [tokenKey(NodeAddress)]: ({ nodeOrigins }) => nodeOrigins,
  [tokenKey(NodeHealth)]: (cradle): NodeHealth => ({
    attention: async () => (await cradle.health.status()).attention,
  }),
  [tokenKey(Connections)]: ({ connections }) => connections,
  [tokenKey(NodeRestart)]: ({ nodeRestart }) => nodeRestart,
  [tokenKey(NodeInfo)]: ({ info, records, database, ownership }): NodeInfo => ({
    ...info,
    command: ownCommand(),
    plugins: () =>
      records.all
        .filter(({ isUp }) => isUp)
        .map(({ id, manifest }) => ({ id, version: manifest?.version ?? '0.0.0' })),
    absentPlugins: () => records.absent,
    isClaimed: () => database.use((sql) => ownership.isClaimed(sql)),
    mayClaim: (code) => database.use((sql) => !ownership.isClaimed(sql) && ownership.mayClaim(code)),
  }),
  [tokenKey(NodeIdentity)]: ({ identity }) => identity,
  [tokenKey(Tokens)]: () => tokenPresentations,
}

/** The keys of the services that the kernel itself provides to plugins. */
export const kernelServices: ReadonlySet<string> = new Set(Object.keys(kernelServiceParts))

function createServices(cradle: KernelCradle): Map<string, unknown> {
  return new Map(Object.entries(kernelServiceParts).map(([key, make]) => [key, make(cradle)]))
}

function createRegistries(cradle: KernelCradle): Registries {
  const { database, clock, configuration, databaseSnapshots, records } = cradle
  const registries = new Registries()
  registries.entries(tokenKey(LoginProviders)).reserve('logout')
  registries.entries(tokenKey(HealthChecks)).add('database', databaseHealth(database), 'kernel')
  registries.entries(tokenKey(HealthChecks)).add('clock', clock, 'kernel')
  registries.entries(tokenKey(HealthChecks)).add('plugins', pluginsHealth(records), 'kernel')
  const participants = registries.entries(tokenKey(BackupParticipants))
  for (const [name, participant] of Object.entries(kernelParticipants(configuration, databaseSnapshots)))
    participants.add(name, participant, 'kernel')
  return registries
}

function createSessionWatch({ authenticator, database, eventBus, log }: KernelCradle): SessionWatch {
  return new SessionWatch({
    authenticator,
    storeVersion: () => database.foreignVersion(),
    events: eventBus.scope(log),
  })
}

function createUserSessions(cradle: KernelCradle): UserSessions {
  const { sessions, authenticator, eventBus, log, configuration } = cradle
  const idleDays = idleDaysOf(configuration.kernel.session)
  return new UserSessions({ sessions, idleDays, authenticator, events: eventBus.scope(log) })
}

function createAdministration(cradle: KernelCradle): UserAdministration {
  const { database, userSessions, authenticator, clock, configuration } = cradle
  const { deletionGraceDays } = configuration.kernel.auth
  const past = () => clock.past
  return new UserAdministration({ database, userSessions, authenticator, deletionGraceDays, past })
}

function createSignIn(cradle: KernelCradle): SignIn {
  const { registries, database, ownership, admission, userSessions, configuration } = cradle
  return new SignIn({
    providers: registries.entries<LoginProvider>(tokenKey(LoginProviders)),
    database,
    ownership,
    admission,
    userSessions,
    settings: configuration.kernel,
  })
}

function createAppFactory({
  configuration,
  checkAccess,
  sessionCookies,
  nodeOrigins,
  nextRequestId,
  routeTable,
}: KernelCradle): (log: Log, onAdmitted?: OnAdmitted) => Promise<App> {
  const { server, loader } = configuration.kernel
  const refusals = new RefusalLog((request) => {
    const by = sessionCookies.tokenOf(request)?.by
    return by === 'own cookie' || by === 'presentation'
  })
  const answerNotFound = createNotFound(routeTable)
  const onDiskFull = () => void releaseForDeletions(configuration.kernel.data)
  return (log, onAdmitted) =>
    createApp({
      log,
      ...(onAdmitted !== undefined && { onAdmitted }),
      nextRequestId,
      checkAccess,
      answerNotFound,
      cameByHttpsName: (request) => nodeOrigins.cameByHttpsName(request),
      refusals,
      onDiskFull,
      settings: server,
      loadTimeoutMs: loader.setupTimeoutMs,
    })
}

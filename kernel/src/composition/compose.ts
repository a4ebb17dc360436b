import { join } from 'node:path'
import {
  BackupParticipants,
  Connections,
  type HealthCheck,
  HealthChecks,
  type LoginProvider,
  LoginProviders,
  NodeAddress,
  NodeIdentity,
  NodeInfo,
  NodeRestart,
  type NodeSupervisor,
  PublicOrigins,
  Restores,
  Supervisor,
  Trials,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { releaseForDeletions } from '@nodekeep/plugin-sdk/data-folder'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { type AwilixContainer, asFunction, asValue, createContainer, InjectionMode } from 'awilix/browser'
import { createAccessCheck } from '../access/access-check.ts'
import { Admission } from '../access/admission.ts'
import { Authenticator } from '../access/authenticator.ts'
import { NodeOrigins } from '../access/node-origins.ts'
import { SessionCookies } from '../access/session-cookies.ts'
import { kernelParticipants } from '../backup/kernel-participants.ts'
import { readLastRestore } from '../backup/restores.ts'
import { guardRegistry } from '../faults/guarded-registry.ts'
import { Health } from '../health/health-report.ts'
import { NodeClock } from '../health/node-clock.ts'
import { createApp } from '../http/create-app.ts'
import { KernelConnections } from '../http/kernel-connections.ts'
import { createNotFound } from '../http/not-found.ts'
import { RefusalLog } from '../http/refusal-log.ts'
import { RouteTable } from '../http/route-table.ts'
import { createRequestIds } from '../http/shared-hooks.ts'
import { Activation } from '../plugins/activation.ts'
import { PluginHost } from '../plugins/plugin-host.ts'
import { PluginRecords } from '../plugins/plugin-record.ts'
import { PluginSwitch } from '../plugins/plugin-switch.ts'
import { ServiceWiring } from '../plugins/service-wiring.ts'
import { KernelEventBus } from '../services/event-bus.ts'
import { Registries } from '../services/registry.ts'
import { kernelServices, ServiceDirectory } from '../services/service-directory.ts'
import { storeKnownScopes } from '../sessions/known-scopes.ts'
import { SessionTable } from '../sessions/session-table.ts'
import { SessionWatch } from '../sessions/session-watch.ts'
import { UserSessions } from '../sessions/user-sessions.ts'
import { SignIn } from '../sign-in/sign-in.ts'
import { databaseHealth } from '../state/database.ts'
import { DatabaseSnapshots } from '../state/database-snapshots.ts'
import { StateStores } from '../state/state-stores.ts'
import { createNodeIdentity } from '../system/node-identity.ts'
import { KernelNodeRestart } from '../system/node-restart.ts'
import { KernelTrials } from '../trials/node-trials.ts'
import { UserAdministration } from '../users/user-administration.ts'
import type { KernelCradle, KernelValues, PluginCradle } from './cradle.ts'
import { createRestores } from './create-restores.ts'

/**
 * Composes the kernel of one node. Each part is made at its first use. No other file knows how the parts fit together.
 */
export function composeKernel(values: KernelValues): AwilixContainer<KernelCradle> {
  const container = createContainer<KernelCradle>({ strict: true, injectionMode: InjectionMode.PROXY })
  const single = <T>(make: (cradle: KernelCradle) => T) => asFunction(make).singleton()
  container.register({
    configuration: asValue(values.configuration),
    log: asValue(values.log),
    info: asValue(values.info),
    secrets: asValue(values.secrets),
    database: asValue(values.database),
    accounts: asValue(values.accounts),
    ownership: asValue(values.ownership),
    inlinePlugins: asValue(values.inlinePlugins),
    supervisor: asValue(values.supervisor),

    // State, services and routes
    stateStores: single(({ database, log }) => new StateStores(database, log)),
    clock: single(
      ({ stateStores, log, info }) =>
        new NodeClock({ state: stateStores.for('@kernel'), log, earliest: info.buildDate }),
    ),
    restores: single(({ configuration }) => createRestores(configuration)),
    lastRestore: single(({ configuration }) => readLastRestore(configuration.kernel.data)),
    trials: single(({ configuration }) => new KernelTrials(configuration)),
    databaseSnapshots: single(({ configuration }) => new DatabaseSnapshots(configuration.kernel.data)),
    identity: single(({ configuration }) => createNodeIdentity(configuration.kernel.data)),
    eventBus: single(() => new KernelEventBus()),
    registries: single(createRegistries),
    services: single(createServices),
    routeTable: single(() => new RouteTable()),
    connections: single(() => new KernelConnections()),
    nextRequestId: single(() => createRequestIds()),
    nodeRestart: single(
      ({ configuration, supervisor }) =>
        new KernelNodeRestart(configuration.kernel.supervised || supervisor !== null),
    ),

    // Users, sessions and access
    sessions: single(({ database }) => new SessionTable(database)),
    admission: single(({ configuration }) => new Admission(configuration.kernel.auth)),
    authenticator: single(
      ({ sessions, accounts, admission, configuration }) =>
        new Authenticator(sessions, accounts, admission, {
          idleDays: configuration.kernel.session.idleDays,
        }),
    ),
    sessionWatch: single(
      ({ authenticator, database, eventBus, log }) =>
        new SessionWatch({
          authenticator,
          storeVersion: () => database.foreignVersion(),
          events: eventBus.scope(log),
        }),
    ),
    userSessions: single(createUserSessions),
    administration: single(createAdministration),
    storeScopes: single(
      ({ routeTable, stateStores, log }) =>
        () =>
          storeKnownScopes(routeTable.scopes, stateStores.for('@kernel'), log),
    ),
    signIn: single(createSignIn),
    nodeOrigins: single(
      ({ configuration, registries }) =>
        new NodeOrigins(configuration.kernel.server, registries.entries(tokenKey(PublicOrigins))),
    ),
    sessionCookies: single(
      ({ identity, nodeOrigins, log }) => new SessionCookies(identity, nodeOrigins, log),
    ),
    checkAccess: single(({ authenticator, sessionCookies, sessionWatch, nodeOrigins }) =>
      createAccessCheck(authenticator, sessionCookies, sessionWatch, nodeOrigins),
    ),

    createApp: single(createAppFactory),
    health: single(createHealth),

    // Plugins
    records: single(() => new PluginRecords()),
    wiring: single(
      ({ records, configuration }) =>
        new ServiceWiring(records, kernelServices, configuration.kernel.services),
    ),
    pluginHost: single(
      ({ records, wiring, services, log }) =>
        new PluginHost({
          records,
          wiring,
          services,
          log,
          createActivation: (record, plugin, offers) =>
            new Activation(pluginScope(container, record.id).cradle, record, plugin, offers),
        }),
    ),
    pluginSwitch: single(
      ({ records, pluginHost, registries, storeScopes, stateStores, log }) =>
        new PluginSwitch({
          records,
          host: pluginHost,
          registries,
          storeScopes,
          state: stateStores.for('@kernel'),
          log,
        }),
    ),
  })
  return container
}

/** Adds the logger and the data folder of one plugin. */
function pluginScope(container: AwilixContainer<KernelCradle>, id: string): AwilixContainer<PluginCradle> {
  const scope = container.createScope<PluginCradle>()
  const { log, configuration } = container.cradle
  scope.register({
    pluginLog: asValue(log.child({ plugin: id })),
    pluginDataDir: asValue(join(configuration.kernel.data, 'plugins', id)),
  })
  return scope
}

function createRegistries({ database, clock, configuration, databaseSnapshots }: KernelCradle): Registries {
  const registries = new Registries()
  registries.entries(tokenKey(LoginProviders)).reserve('logout')
  registries.entries(tokenKey(HealthChecks)).add('database', databaseHealth(database), 'kernel')
  registries.entries(tokenKey(HealthChecks)).add('clock', clock, 'kernel')
  const participants = registries.entries(tokenKey(BackupParticipants))
  for (const [name, participant] of Object.entries(kernelParticipants(configuration, databaseSnapshots)))
    participants.add(name, participant, 'kernel')
  return registries
}

function createServices(cradle: KernelCradle): ServiceDirectory {
  const services = new ServiceDirectory()
  services.provide(tokenKey(UserDirectory), cradle.accounts)
  services.provide(tokenKey(Restores), cradle.restores)
  services.provide(tokenKey(Supervisor), {
    link: cradle.supervisor,
    configurationFiles: cradle.configuration.files,
  } satisfies NodeSupervisor)
  services.provide(tokenKey(Trials), cradle.trials)
  services.provide(tokenKey(NodeAddress), cradle.nodeOrigins)
  services.provide(tokenKey(Connections), cradle.connections)
  services.provide(tokenKey(NodeRestart), cradle.nodeRestart)
  services.provide(tokenKey(NodeInfo), {
    ...cradle.info,
    plugins: () =>
      cradle.records.all
        .filter(({ isUp }) => isUp)
        .map(({ id, manifest }) => ({ id, version: manifest?.version ?? '' })),
    absentPlugins: () => cradle.records.absent,
  } satisfies NodeInfo)
  services.provide(tokenKey(NodeIdentity), cradle.identity)
  return services
}

function createUserSessions(cradle: KernelCradle): UserSessions {
  const { sessions, authenticator, eventBus, log, configuration } = cradle
  const { idleDays } = configuration.kernel.session
  return new UserSessions({ sessions, idleDays, authenticator, events: eventBus.scope(log) })
}

function createAdministration(cradle: KernelCradle): UserAdministration {
  const { database, userSessions, authenticator, clock, configuration } = cradle
  const { deletionGraceDays } = configuration.kernel.auth
  const past = () => clock.past
  return new UserAdministration({ database, userSessions, authenticator, deletionGraceDays, past })
}

/** Writes origins as browsers do: configuration may have a trailing slash, upper case, or the port 443. */
function originsOf(urls: readonly string[]): string[] {
  return urls.map((url) => new URL(url).origin)
}

function createSignIn(cradle: KernelCradle): SignIn {
  const { registries, database, ownership, admission, userSessions, configuration } = cradle
  const { auth, session } = configuration.kernel
  return new SignIn({
    providers: guardRegistry<LoginProvider>(registries.entries(tokenKey(LoginProviders))),
    database,
    ownership,
    admission,
    userSessions,
    timeoutMs: auth.signInTimeoutMs,
    expiryDays: session.expiryDays,
  })
}

function createAppFactory({
  configuration,
  checkAccess,
  sessionCookies,
  nextRequestId,
  routeTable,
}: KernelCradle): KernelCradle['createApp'] {
  const { server, loader } = configuration.kernel
  const refusals = new RefusalLog((request) => sessionCookies.tokenOf(request)?.by === 'own cookie')
  const answerNotFound = createNotFound(routeTable)
  const onDiskFull = () => void releaseForDeletions(configuration.kernel.data)
  return (log, onAdmitted) =>
    createApp({
      log,
      ...(onAdmitted !== undefined && { onAdmitted }),
      nextRequestId,
      checkAccess,
      answerNotFound,
      refusals,
      onDiskFull,
      bodyLimit: server.bodyLimit,
      bodyTimeoutMs: server.bodyTimeoutSeconds * 1000,
      stallTimeoutMs: server.stallTimeoutSeconds * 1000,
      corsOrigins: originsOf(server.cors.origins),
      logsAnswers: ['debug', 'trace'].includes(log.level),
      trustedProxies: server.trustedProxies,
      loadTimeoutMs: loader.setupTimeoutMs,
    })
}

function createHealth({ configuration, registries, records }: KernelCradle): Health {
  const { required, timeoutMs } = configuration.kernel.health
  return new Health({
    checks: guardRegistry<HealthCheck>(registries.entries(tokenKey(HealthChecks))),
    required,
    timeoutMs,
    pluginsImpaired: () => records.impaired.length > 0,
  })
}

import type { Log, NodeIdentity, Plugin, SupervisorLink } from '@nodekeep/plugin-sdk'
import type { Admission } from '../access/admission.ts'
import type { Authenticator } from '../access/authenticator.ts'
import type { NodeOrigins } from '../access/node-origins.ts'
import type { SessionCookies } from '../access/session-cookies.ts'
import type { KernelRestores, LastRestore } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { Health } from '../health/health-report.ts'
import type { NodeClock } from '../health/node-clock.ts'
import type { App } from '../http/create-app.ts'
import type { KernelConnections } from '../http/kernel-connections.ts'
import type { RouteTable } from '../http/route-table.ts'
import type { AccessCheck, OnAdmitted } from '../http/shared-hooks.ts'
import type { Secrets } from '../log/secrets.ts'
import type { PluginHost } from '../plugins/plugin-host.ts'
import type { PluginRecords } from '../plugins/plugin-record.ts'
import type { PluginSwitch } from '../plugins/plugin-switch.ts'
import type { ServiceWiring } from '../plugins/service-wiring.ts'
import type { KernelEventBus } from '../services/event-bus.ts'
import type { Registries } from '../services/registry.ts'
import type { ServiceDirectory } from '../services/service-directory.ts'
import type { SessionTable } from '../sessions/session-table.ts'
import type { SessionWatch } from '../sessions/session-watch.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import type { Ownership } from '../sign-in/ownership.ts'
import type { SignIn } from '../sign-in/sign-in.ts'
import type { StateDatabase } from '../state/database.ts'
import type { DatabaseSnapshots } from '../state/database-snapshots.ts'
import type { StateStores } from '../state/state-stores.ts'
import type { NodeBuild } from '../system/node-info.ts'
import type { KernelNodeRestart } from '../system/node-restart.ts'
import type { KernelTrials } from '../trials/node-trials.ts'
import type { UserAccounts } from '../users/user-accounts.ts'
import type { UserAdministration } from '../users/user-administration.ts'

/** The values that the kernel is composed from. */
export interface KernelValues {
  readonly configuration: Configuration
  readonly log: Log
  readonly info: NodeBuild
  readonly secrets: Secrets
  readonly database: StateDatabase
  readonly accounts: UserAccounts
  readonly ownership: Ownership
  /** Plugins that an embedding program passed and that need no package, by id. */
  readonly inlinePlugins: Readonly<Record<string, Plugin>>
  /** The supervisor that runs the node; `null` if there is none. */
  readonly supervisor: SupervisorLink | null
}

/** Every part of the kernel, by name. Plugins never see it. */
export interface KernelCradle extends KernelValues {
  // State, services and routes
  readonly stateStores: StateStores
  readonly clock: NodeClock
  readonly restores: KernelRestores
  readonly lastRestore: LastRestore | null
  readonly trials: KernelTrials
  readonly databaseSnapshots: DatabaseSnapshots
  readonly identity: NodeIdentity
  readonly eventBus: KernelEventBus
  readonly registries: Registries
  readonly services: ServiceDirectory
  readonly routeTable: RouteTable
  readonly connections: KernelConnections
  readonly nextRequestId: () => string
  readonly nodeRestart: KernelNodeRestart

  // Users, sessions and access
  readonly sessions: SessionTable
  readonly admission: Admission
  readonly authenticator: Authenticator
  readonly sessionWatch: SessionWatch
  readonly userSessions: UserSessions
  readonly administration: UserAdministration
  /** Stores the scopes of the routes for the command line. */
  readonly storeScopes: () => Promise<void>
  readonly signIn: SignIn
  readonly nodeOrigins: NodeOrigins
  readonly sessionCookies: SessionCookies
  readonly checkAccess: AccessCheck

  /** Creates a Fastify instance that uses the given logger. */
  readonly createApp: (log: Log, onAdmitted?: OnAdmitted) => Promise<App>
  readonly health: Health

  // Plugins
  readonly records: PluginRecords
  readonly wiring: ServiceWiring
  readonly pluginHost: PluginHost
  readonly pluginSwitch: PluginSwitch
}

/** The kernel's parts, and those of one plugin. */
export interface PluginCradle extends KernelCradle {
  readonly pluginLog: Log
  readonly pluginDataDir: string
}

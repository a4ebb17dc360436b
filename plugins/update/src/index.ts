import { join } from 'node:path'
import {
  definePlugin,
  Files,
  HealthChecks,
  NodeAddress,
  NodeInfo,
  Supervisor,
  UpdateSource,
  UserDirectory,
  WasmRuntimes,
} from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { everyDay } from './daily-check.ts'
import { updateHealth } from './health.ts'
import { updateRoutes } from './http/routes.ts'
import { Probation } from './probation/probation.ts'
import { probesOf } from './probation/probes.ts'
import { passedProbes } from './probation/watch-version.ts'
import { SupervisedReleases } from './releases/supervised-releases.ts'
import { RecordFile } from './state/update-record.ts'
import { Updates } from './updates.ts'

/** The plugin `update`: finds and installs new versions, watches them, and goes back. */
export default definePlugin({
  id: 'update',
  description: 'Finds and installs new versions, and goes back if they do not work.',
  config: configuration,
  requires: {
    info: NodeInfo,
    supervisor: Supervisor,
    address: NodeAddress,
    users: UserDirectory,
    runtimes: WasmRuntimes,
  },
  optional: { source: UpdateSource, files: Files },
  contributes: { health: HealthChecks },
  async setup({
    config,
    info,
    supervisor,
    address,
    users,
    runtimes,
    source,
    files,
    health,
    log,
    signal,
    ...context
  }) {
    const releases = new SupervisedReleases(supervisor)
    const file = new RecordFile(join(context.dataDir, 'update.json'), log, signal)
    await file.load()
    const probes = () => probesOf(address, users, files, runtimes)
    const updates = new Updates({
      info,
      source,
      releases,
      file,
      log,
      waitMs: (config.patience ?? config.drainSeconds) * 1000,
      passedProbes: (signal) => passedProbes(probes(), signal),
      signal,
    })
    const probation = new Probation(info.version, { probes, file, releases, log, signal })

    let endChecks = () => {}
    context.onServing(async () => {
      void probation.watch().catch((err) => {
        if (!signal.aborted) log.error({ err }, 'The new version could not be watched.')
      })
      if (source?.isConfigured !== true) return
      const triedAt = () => (file.record.triedAt === null ? null : new Date(file.record.triedAt))
      endChecks = everyDay(triedAt, () => updates.checkDaily(config.automatic))
    })
    context.onStop(() => endChecks())

    const startedAt = performance.now()
    const upMs = () => performance.now() - startedAt
    if (source?.isConfigured === true) health.add('update', updateHealth(updates, file, upMs))
    const services = { info, updates, releases, file, probation, automatic: config.automatic }
    context.routes((app) => updateRoutes(app, services), { prefix: '/api/update' })
  },
})

import { join } from 'node:path'
import {
  BackupParticipants,
  definePlugin,
  Files,
  HealthChecks,
  NodeInfo,
  NodeRestart,
  Restores,
  StorageBackends,
  Trials,
  TriedBackups,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { Backups } from './backups.ts'
import { configuration } from './configuration.ts'
import { BackupMaker } from './create/backup-maker.ts'
import { Drills } from './drill/drills.ts'
import { readRehearsal } from './drill/rehearsal.ts'
import { TriedContents } from './drill/tried-contents.ts'
import { ReadBackups } from './extract/read-backups.ts'
import { userFileRoutes } from './extract/user-file-routes.ts'
import { backupHealth } from './health.ts'
import { backupRoutes } from './http/routes.ts'
import type { BackupStatus } from './http/status.ts'
import { lendRoutes } from './lend/lend-routes.ts'
import { LentFolder } from './lend/lent-folder.ts'
import { finishRestores } from './restore/finish-restores.ts'
import { RestoreFolders } from './restore/restore-folder.ts'
import { restoreRoutes } from './restore/restore-routes.ts'
import { unclaimedRoutes } from './restore/unclaimed-routes.ts'
import { UploadedBackup } from './restore/uploaded-backup.ts'
import { totalOf } from './retention/retained-backups.ts'
import { firstCheck } from './schedule/first-check.ts'
import { Schedule } from './schedule/schedule.ts'
import { BackupFolder } from './stored/backup-folder.ts'
import { Targets } from './targets/targets.ts'

/** The plugin `backup`: one moment of the whole node in one archive, and a restore that is proven. */
export default definePlugin({
  id: 'backup',
  description: 'Makes backups of everything, tries them out, and brings everything back.',
  config: configuration,
  requires: {
    participants: BackupParticipants,
    backends: StorageBackends,
    info: NodeInfo,
    restores: Restores,
    control: NodeRestart,
    trials: Trials,
    users: UserDirectory,
  },
  optional: { files: Files },
  provides: { tried: TriedBackups },
  contributes: { health: HealthChecks },
  async setup({
    config,
    participants,
    backends,
    info,
    restores,
    control,
    trials,
    users,
    files,
    health,
    dataDir,
    nodeDataDir,
    state,
    sqliteFile,
    log,
    signal,
    ...context
  }) {
    const { recipients, include, keep } = config
    const command = `${info.command} backup`
    const folder = new BackupFolder(join(nodeDataDir, 'backups'), (filename, reason) =>
      log.warn({ filename, reason }, 'A backup cannot be read, so it is not listed.'),
    )
    const isEncrypted = recipients.length > 0
    const maker = new BackupMaker({
      participants,
      folder,
      info,
      restores,
      backends,
      recipients,
      include,
      log,
    })
    const targets = new Targets({ names: config.targets, backends, folder, keep, isEncrypted, command, log })
    const contents = new TriedContents(
      () => sqliteFile('tried-contents', { inBackups: false, newIfDamaged: lostContents }),
      () => folder.list(),
    )
    const drills = new Drills({
      folder: join(nodeDataDir, 'drill'),
      dataDir,
      restores,
      trials,
      contents,
      log,
    })
    await drills.load()
    const backups = new Backups({
      maker,
      folder,
      targets,
      keep,
      state,
      log,
      signal,
      hasOwnKeys: config.drill && isEncrypted,
      onBegin: () => void drills.interrupt(),
      onMade({ filename, bytes }, identities) {
        if (config.drill && !signal.aborted)
          drills.begin({ file: join(folder.path, filename), bytes, identities })
      },
    })
    const lent = new LentFolder({
      participants,
      folder: folder.path,
      info,
      restores,
      backends,
      include,
      signal,
    })
    await backups.load()
    const lastRun = backups.last && new Date(backups.last.at)
    const schedule =
      config.schedule === undefined
        ? null
        : new Schedule(config.schedule, lastRun, await firstCheck(state, lastRun))

    const reads = new ReadBackups({
      backups: folder,
      folder: join(dataDir, 'extracted'),
      files,
      users,
      command,
      signal,
    })

    const restoreFolders = new RestoreFolders(nodeDataDir, restores)
    const uploaded = new UploadedBackup(join(dataDir, 'uploaded'), signal)
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const restoreServices = {
      dataFolder: nodeDataDir,
      folders: restoreFolders,
      restores,
      backends,
      control,
      finished,
      signal,
    }

    context.onStart(() => targets.refuseUnknown(info.absentPlugins()))

    context.onServing(async () => {
      finishRestores(restoreFolders, context.restored, log).then(finish)
      await folder.removeUnfinished()
      await lent.removeStale()
      await reads.removeLeft()
      await uploaded.removeLeft()
      if (!drills.isRunning) await drills.removeLeft()
      await backups.nameAhead()
      backups.updateTargets()
      schedule?.start(async () => {
        await backups.make().catch((err) => log.error({ err }, 'The scheduled backup failed.'))
      })
    })
    context.onStop(() => {
      schedule?.end()
      return backups.close()
    })
    context.onStop(() => lent.close())
    context.onStop(async () => {
      await drills.interrupt()
      contents.close()
    })

    health.add(
      'backup',
      backupHealth({
        backups,
        schedule,
        targets,
        drills: config.drill ? drills : { last: null },
        isRehearsed: isEncrypted ? async () => (await readRehearsal(dataDir)) !== null : null,
        command,
      }),
    )
    const status = async () => {
      const stored = await folder.list()
      return {
        running: maker.progress && { ...maker.progress, startedAt: maker.progress.startedAt.toISOString() },
        last: backups.last,
        next: schedule?.next?.toISOString() ?? null,
        folder: folder.path,
        stored: {
          ...totalOf(stored, keep, schedule?.next ?? new Date()),
          encrypted: stored.filter(({ encrypted }) => encrypted).map(({ filename }) => filename),
        },
        ahead: await backups.ahead(),
        targets: targets.states.map(({ completeAt, ...target }) => ({
          ...target,
          completeAt: completeAt?.toISOString() ?? null,
        })),
        drill: drills.last,
        drills: config.drill,
        isDrilling: drills.isRunning,
        reading: reads.share,
        recipients: recipients.length,
        command,
        rehearsed: (await readRehearsal(dataDir))?.at ?? null,
        planned: await plannedRestore(restoreFolders),
        previous: (await restoreFolders.previous()).map(({ backup, bytes }) => ({ backup, bytes })),
      }
    }
    context.routes(
      (app) => {
        backupRoutes(app, backups, folder, status)
        lendRoutes(app, lent)
        userFileRoutes(app, reads)
        restoreRoutes(app, { ...restoreServices, backups: folder })
      },
      { prefix: '/api/backup' },
    )
    // Below /auth, the node refuses pages of other sites, and connections on which others could read the claim code.
    context.routes((app) => unclaimedRoutes(app, { ...restoreServices, uploaded, info }))
    return { tried: contents }
  },
})

const lostContents = 'Until the next backup is tried out, the node does not know which files are in one.'

async function plannedRestore(folders: RestoreFolders): Promise<BackupStatus['planned']> {
  const planned = await folders.planned()
  return planned && { backup: planned.record.backup, moment: planned.record.moment }
}

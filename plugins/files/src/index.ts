import { join } from 'node:path'
import {
  Changes,
  definePlugin,
  FileChanged,
  Files,
  HealthChecks,
  StorageBackends,
  UserData,
} from '@nodekeep/plugin-sdk'
import { removeAbandonedCopies } from './changes/abandoned-copies.ts'
import { ChangeRecorder } from './changes/change-recorder.ts'
import { hasHappened } from './changes/happened.ts'
import { inTime, lookMs, startMs } from './changes/in-time.ts'
import { Reconciliation } from './changes/reconciliation.ts'
import { configuration } from './configuration.ts'
import { eraseFiles } from './erasure.ts'
import { createFilesService } from './files-service.ts'
import { storageHealth } from './health.ts'
import { fileRoutes } from './http/routes.ts'
import { openSpool } from './http/spool.ts'
import { type ChangeIntent, openJournal } from './journal/journal.ts'
import { warnOfMissingBackends } from './mounts/missing-backends.ts'
import { Mounts } from './mounts/mounts.ts'
import { Reach } from './mounts/reach.ts'
import type { UserPath } from './paths/user-path.ts'

/** The plugin `files`: each user's files on storage backends, over HTTP and for other plugins. */
export default definePlugin({
  id: 'files',
  description: "Keeps each user's files on storage backends, with a journal of every change.",
  config: configuration,
  requires: { backends: StorageBackends },
  contributes: { health: HealthChecks, userData: UserData },
  provides: { files: Files, changes: Changes },
  async setup({ config, backends, health, userData, log, events, dataDir, nodeDataDir, routes, ...context }) {
    const mounts = new Mounts(config.mounts, backends, new Reach(log))
    const spool = await openSpool(dataDir)
    const journal = await openJournal(join(nodeDataDir, 'journal.sqlite'), config.journal)
    context.onStop(() => journal.close())
    const left = await journal.pending()

    const announce = (userUuid: string, seq: number) => events.emit(FileChanged, { userUuid, seq })
    const happened = (intent: ChangeIntent) => inTime(hasHappened(intent, mounts), lookMs)
    const mountOf = ({ path }: ChangeIntent) => mounts.pointOf(path as UserPath)
    const reconciliation = new Reconciliation({ journal, hasHappened: happened, mountOf, announce, log })
    const { postpone, decideBefore } = reconciliation
    const recorder = new ChangeRecorder({
      journal,
      hasHappened: happened,
      decideBefore,
      announce,
      postpone,
    })
    const { maxFileSize } = config
    const files = createFilesService({ mounts, journal, recorder, maxFileSize })
    context.onStart(async () => {
      warnOfMissingBackends(mounts, backends, log)
      await reconciliation.start(left)
      const removing = removeAbandonedCopies({ journal, mounts, recorder, log })
      await inTime(removing, startMs).catch((error) =>
        log.warn(
          { err: error },
          'Copies that unfinished moves left may still be there until the next start.',
        ),
      )
    })
    context.onStop(() => reconciliation.stop())

    health.add('storage', storageHealth(mounts))
    userData.add('files', { erase: (userUuid, signal) => eraseFiles(userUuid, { mounts, journal, signal }) })
    routes(fileRoutes({ files, spool, maxFileSize }))
    return { files, changes: journal }
  },
})

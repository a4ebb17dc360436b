import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  BackupParticipants,
  Changes,
  definePlugin,
  FileChanged,
  FileHeaders,
  FileIndex,
  Files,
  HealthChecks,
  restoredEntriesFile,
  SessionsEnded,
  StorageBackends,
  UserData,
  UserDirectory,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import { filesInBackups } from './backup/backup-participant.ts'
import { keptListName } from './backup/kept-list.ts'
import { takeRestoredDates } from './backup/restored-dates.ts'
import { RestoredFiles } from './backup/restored-files.ts'
import { takeRestoredKept } from './backup/restored-kept.ts'
import { removeAbandonedCopies } from './changes/abandoned-copies.ts'
import { createChangeLog } from './changes/change-log.ts'
import { ChangeRecorder } from './changes/change-recorder.ts'
import { recordLeftFolders } from './changes/left-folders.ts'
import { Reconciliation, startMs } from './changes/reconciliation.ts'
import { wasApplied } from './changes/verify-change.ts'
import { configuration, defaultDays } from './configuration.ts'
import { removeFormerIndex } from './entries/former-index.ts'
import { ExternalScans } from './external/external-scans.ts'
import { createFileIndex } from './file-index.ts'
import { createFilesService } from './files-service.ts'
import { BackgroundHashes } from './hashing/background-hashes.ts'
import { FileHashes } from './hashing/file-hashes.ts'
import { addedHeaders } from './http/added-headers.ts'
import { ChangeFollowers } from './http/change-followers.ts'
import { fileRoutes } from './http/routes.ts'
import { openSpool } from './http/spool.ts'
import type { ChangeIntent } from './journal/change.ts'
import { openJournal } from './journal/journal.ts'
import { RunningChanges } from './journal/running-changes.ts'
import { Purge } from './kept/purge.ts'
import { eraseUnknownUsers } from './kept/unknown-users.ts'
import { createKeptFiles } from './kept-files-service.ts'
import { keptFolder } from './mounts/kept-folder.ts'
import { Mounts } from './mounts/mounts.ts'
import { CrossMountMoves } from './operations/cross-mount-moves.ts'
import { ignoreMissing } from './operations/path-errors.ts'
import { createScopes } from './operations/scope.ts'
import { PathLocks } from './paths/path-locks.ts'
import type { UserPath } from './paths/user-path.ts'
import { DiskReserve } from './quota/disk-reserve.ts'
import { Quotas } from './quota/quotas.ts'
import { Rooms } from './quota/rooms.ts'
import { createUndo } from './undo/undo.ts'

/** The plugin `files`: each user's files on storage backends, over HTTP and for other plugins. */
export default definePlugin({
  id: 'files',
  description: 'Keeps the files of everybody, with a trash and former versions.',
  config: configuration,
  requires: { backends: StorageBackends, fileHeaders: FileHeaders, users: UserDirectory },
  contributes: { health: HealthChecks, userData: UserData, participants: BackupParticipants },
  provides: { files: Files, changes: Changes, index: FileIndex },
  async setup({
    config,
    backends,
    fileHeaders,
    users,
    health,
    userData,
    participants,
    log,
    state,
    events,
    dataDir,
    routes,
    ...context
  }) {
    const mounts = new Mounts(config.mounts, backends, log)
    const restoredFiles = new RestoredFiles(dataDir, { mounts, backends, log, signal: context.signal })
    // A restored storage has other revisions than the journal knows, so backups leave it out.
    const journalFile = context.sqliteFile('journal', {
      inBackups: false,
      newIfDamaged:
        'Devices, and programs that follow changes, list all files once. Some dates of creation are lost. Unfinished copies of moves may stay on storages.',
    })
    await removeFormerIndex(journalFile)
    const journal = await openJournal(journalFile, { ...config.journal, mounts: mounts.toJSON() })
    context.onStop(() => journal.close())
    const pending = await journal.pending()

    const storageShows = (intent: ChangeIntent) => wasApplied(intent, mounts)
    const mountOf = ({ path }: ChangeIntent) => mounts.pointOf(path as UserPath)
    const recordLeft = (intent: ChangeIntent) => recordLeftFolders(intent, journal, mounts)
    const announce = (userUuid: string, seq: number) => events.emit(FileChanged, { userUuid, seq })
    const reconciliation = new Reconciliation({
      journal,
      wasApplied: storageShows,
      recordLeft,
      mountOf,
      announce,
      log,
    })
    const { postpone, resolveBefore, settle } = reconciliation
    const running = new RunningChanges()
    const recorder = new ChangeRecorder({
      journal,
      running,
      wasApplied: storageShows,
      recordLeft,
      resolveBefore,
      settle,
      announce,
      postpone,
    })
    const { maxFileSize } = config
    const locks = new PathLocks()
    const crossMountMoves = new CrossMountMoves()
    const quotas = new Quotas(config.quota ?? null, state)
    await quotas.load()
    const reserve = new DiskReserve(config.reserve, dataDir, mounts)
    const spool = await openSpool(dataDir, reserve)
    const rooms = new Rooms({
      journal,
      quotas,
      reserve,
      spareBytes: (userUuid, enough) => purge.spareBytes(userUuid, enough),
      makeRoom: (userUuid, bytes) => purge.makeRoom(userUuid, bytes),
    })
    const keeping = { trash: config.trash !== false, versions: config.versions !== false }
    const scopeServices = { mounts, journal, recorder, locks, crossMountMoves, keeping, rooms, maxFileSize }
    const scopeOf = createScopes(scopeServices)
    const files = createFilesService(scopeOf, rooms, maxFileSize)
    const keptDays = { trash: daysOf(config.trash), versions: daysOf(config.versions) }
    const kept = createKeptFiles(scopeOf, keptDays.trash)
    const identify = (mount: UserPath) => external.identifyAt(mount)
    const purge = new Purge({ journal, scopeOf, identify, state, log, signal: context.signal }, keptDays)
    context.onStop(() => purge.stop())
    participants.add('files', filesInBackups(mounts, journal, crossMountMoves))
    const { signal } = context
    const external = new ExternalScans({
      journal,
      mounts,
      locks,
      running,
      announce,
      signal,
      users,
      state,
      log,
      onCompared: (userUuid) => background.notice(userUuid),
    })
    context.onStop(() => external.stop())
    const hashes = new FileHashes({ journal, mounts })
    context.onStop(() => hashes.close())
    const background = new BackgroundHashes({
      journal,
      mounts,
      hashes,
      isWanted: (userUuid) => external.isFollowed(userUuid),
      bytesPerSecond: config.hashedBytesPerSecond,
      signal,
      log,
    })
    context.onStop(() => background.stop())

    context.onStart(async () => {
      mounts.warnOfMissingBackends()
      await external.identify()
      const before = (await state.get<Record<string, string>>('mounts')) ?? mounts.toJSON()
      mounts.warnOfMovedBackends(before)
      // The journal is about other files, so its readers must list the files again.
      const areOthers = context.restored !== null || !isDeepStrictEqual(before, mounts.toJSON())
      if (areOthers) await journal.renew()
      await state.set('mounts', mounts.toJSON())
      await takeRestoredDates(join(dataDir, restoredEntriesFile), { mounts, journal, log })
      await takeRestoredKept(join(dataDir, 'restored', keptListName), { mounts, journal, log })
      await context.restored?.acknowledge()
      await reconciliation.start(pending)
      const removing = removeAbandonedCopies(journal, mounts, recorder, log)
      await withTimeLimit(removing, startMs, 'Storages do not answer.').catch((error) =>
        log.warn({ err: error }, 'Copies of unfinished moves may stay until the next start.'),
      )
    })
    context.onStop(() => restoredFiles.close())
    context.onServing(() => {
      restoredFiles.begin()
      journal.prune()
      purge.start()
      eraseUnknownUsers(mounts, journal, users, log).catch((error) =>
        log.warn({ err: error }, 'The trash of users who are not there any more could not be deleted.'),
      )
      return external.start()
    })
    context.onStop(() => reconciliation.stop())

    health.add('storage', {
      async check(signal) {
        const unreachable = await mounts.unreachable(signal)
        if (unreachable.length === 0) return { ok: true, state: 'available' }
        return { ok: false, state: 'unreachable', message: unreachable.join(' ') }
      },
    })

    health.add('disk-space', { check: () => reserve.health() })

    health.add('file-index', {
      async check() {
        const { length } = await external.incomplete()
        // There is nothing to do for the owner, so it has no message. Each usage tells whether it is complete.
        return { ok: true, state: length === 0 ? 'complete' : 'counting' }
      },
    })

    /** Removes a user's files from every mount, then everything that the journal has of them. */
    async function eraseFiles(userUuid: string, signal: AbortSignal): Promise<void> {
      for (const point of mounts.points) {
        signal.throwIfAborted()
        const { backend, backendPath } = mounts.locate(userUuid, point)
        await backend.remove(backendPath).catch(ignoreMissing)
        await backend.remove(`${keptFolder}/${userUuid}`).catch(ignoreMissing)
      }
      await external.erase(userUuid)
      await journal.erase(userUuid)
      await quotas.reset(userUuid)
    }

    userData.add('files', { erase: eraseFiles })
    const changes = createChangeLog(journal, external, reconciliation)
    const followers = new ChangeFollowers()
    events.on(FileChanged, ({ userUuid }) => followers.notice(userUuid))
    events.on(FileChanged, ({ userUuid }) => {
      external.notice(userUuid)
      background.notice(userUuid)
    })
    events.on(SessionsEnded, ({ userUuid }) => followers.endOfUser(userUuid))
    context.signal.addEventListener('abort', () => followers.close())
    const headersOf = addedHeaders(fileHeaders)
    const index = createFileIndex({ journal, mounts, hashes, scans: external })
    routes(
      fileRoutes({
        files,
        kept,
        undo: createUndo(scopeOf),
        spool,
        maxFileSize,
        journal,
        changes,
        followers,
        headersOf,
        index,
        mounts,
        users,
        external,
        quotas,
        rooms,
        signal,
      }),
    )
    return { files, changes, index }
  },
})

/** Days for which something is kept. What was kept before it was switched off stays for the default time. */
function daysOf(kept: { readonly days: number } | false): number {
  return kept === false ? defaultDays : kept.days
}

import { access, constants, mkdir, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { withDisk } from './disk/disk-failures.ts'
import { LocalDisk } from './disk/local-disk.ts'
import type { Clock } from './ports.ts'
import { NodeRemote } from './remote/node-remote.ts'
import type { NodeAccess } from './remote/node-requests.ts'
import { sqliteCode, storageFailure } from './state-database.ts'
import { type EngineOptions, SyncEngine } from './sync-engine.ts'
import { SyncFailure } from './sync-failure.ts'
import { ownFolder } from './sync-paths.ts'
import { SyncState } from './sync-state.ts'

/** The result of SQLite for a database that another process has locked: https://www.sqlite.org/rescode.html */
const busy = 5

/** Options of a synced folder. */
export interface SyncFolderOptions
  extends NodeAccess,
    Partial<Pick<EngineOptions, 'deletionLimits' | 'onStatus' | 'onStep'>> {
  /** The absolute path of the folder. It must exist. */
  readonly folder: string
  /**
   * Whether the folder was synced before. It is then refused if it does not know that: its disk is not mounted, or the folder is
   * another one.
   */
  readonly wasSynced?: boolean
  /** Whether to forget the state, so that both sides are compared and nothing is deleted. The node may then be another one. */
  readonly isAnew?: boolean
  /** Takes a sentence for the person, such as that the system has no watches left. */
  readonly onTrouble?: (message: string) => void
}

/** A folder that is open for sync. One client at a time may open it. */
export interface SyncFolder extends Disposable {
  readonly engine: SyncEngine
}

/**
 * Opens a folder to keep it the same as the files of a user on a node.
 *
 * @throws SyncFailure `stop` if another client has it open, if it is in another synced folder, if it is synced with another node, if its
 * state is gone, or if the token cannot be sent; `unavailable` if the disk is full or read-only
 * @example
 * using folder = await openSyncFolder({ folder: '/home/me/Cloud', url: new URL('https://me.example.org'), token, deviceName: 'laptop' })
 * await folder.engine.run(signal)
 */
export async function openSyncFolder(options: SyncFolderOptions): Promise<SyncFolder> {
  const {
    folder,
    url,
    wasSynced = false,
    isAnew = false,
    onTrouble,
    deletionLimits = { files: 50, share: 0.5 },
    ...others
  } = options
  const file = join(folder, ownFolder, 'state.sqlite')
  const isThere = await stat(file).then(
    () => true,
    () => false,
  )
  if (wasSynced && !isAnew && !isThere) {
    throw new SyncFailure(
      'stop',
      `${folder} was synced before, but has no state of it. Mount its disk, or begin anew with "--link".`,
    )
  }
  await stat(folder).catch((error: unknown) => {
    throw new SyncFailure('stop', `There is no folder ${folder}. Make it first, or mount its disk.`, {
      cause: error,
    })
  })
  // The watch would not follow a link.
  const real = await realpath(folder)
  await refuseWithin(real)
  // The lock comes first: the folder of another client must not be touched.
  await withDisk(folder, async () => {
    await mkdir(join(folder, ownFolder), { recursive: true, mode: 0o700 })
    await access(join(folder, ownFolder), constants.W_OK)
  })
  const state = await openState(file, folder, isAnew)
  try {
    const linked = state.setting('node')
    if (linked !== undefined && linked !== url.origin) {
      throw new SyncFailure(
        'stop',
        `${folder} is synced with ${linked}, not with ${url.origin}. To change that, begin anew with "--link": nothing is deleted.`,
      )
    }
    if (linked === undefined) state.set('node', url.origin)
    const services = {
      state,
      disk: await LocalDisk.open(real, onTrouble),
      remote: new NodeRemote(options, onTrouble),
      clock: systemClock,
      random: Math.random,
    }
    const engine = new SyncEngine(services, { ...others, deletionLimits })
    return { engine, [Symbol.dispose]: () => state.close() }
  } catch (error) {
    state.close()
    throw error
  }
}

/** Refuses a folder within that of another client: each would take the files that the other one stores for new ones, without end. */
async function refuseWithin(real: string): Promise<void> {
  for (
    let [folder, above] = [real, dirname(real)];
    above !== folder;
    [folder, above] = [above, dirname(above)]
  ) {
    const own = join(above, ownFolder)
    const isSynced = await stat(join(own, 'state.sqlite')).then(
      () => true,
      () => false,
    )
    if (!isSynced) continue
    throw new SyncFailure(
      'stop',
      `${real} is in ${above}, which is synced already. Sync one of them only. If ${above} is not synced any more, remove ${own}.`,
    )
  }
}

async function openState(file: string, folder: string, isAnew: boolean): Promise<SyncState> {
  try {
    const state = stateIn(file)
    if (!isAnew) return state
    state.close()
  } catch (error) {
    if (sqliteCode(error) === busy) throw new SyncFailure('stop', `Another client syncs ${folder} already.`)
    if (!isAnew) throw storageFailure(error) ?? error
  }
  await withDisk(folder, async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
  })
  return openState(file, folder, false)
}

function stateIn(file: string): SyncState {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    return new SyncState(database)
  } catch (error) {
    database.close()
    throw error
  }
}

const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
}

import { existsSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { NodekeepError, type NodeRestores, type RestoreMove } from '@nodekeep/plugin-sdk'
import { makeFolder } from '@nodekeep/plugin-sdk/durable-files'
import { bytesOfBackup, readHeader, unpackBackup } from '../archive/read-archive.ts'
import type { SampleRule } from '../archive/sample.ts'
import { explainFullDisk, requireFreeSpace } from '../create/free-space.ts'
import { arrangeUnpacked } from './arrange-unpacked.ts'
import { differencesOf } from './differences.ts'
import { giveToNode } from './give-to-node.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'
import { restoredIdentity } from './restored-identity.ts'
import { type HasBackend, restoredStorages } from './restored-storages.ts'
import { checkLayout, foldersIn, isUserFolder } from './unpacked-layout.ts'

/** The request of a person: the backup, and how to restore it. */
interface RestoreRequest {
  readonly file: string
  /** Secret halves of recovery keys. */
  readonly identities: readonly string[]
  /** The node gets a new identity, and not that of the backup. */
  readonly newIdentity: boolean
  /** Storages whose files are left out. */
  readonly without: readonly string[]
  /** Restores only a part, as for a test. The rest is read and verified all the same. */
  readonly sample?: SampleRule
  readonly signal: AbortSignal
  readonly onProgress?: (share: number) => void
  /** Called with the folder of what was unpacked and verified, before it is moved to its places. */
  readonly onUnpacked?: (folder: string) => Promise<void>
}

interface RestoreServices {
  readonly dataFolder: string
  readonly folders: RestoreFolders
  readonly restores: Pick<NodeRestores, 'folders' | 'migrateState'>
  readonly hasBackend: HasBackend
}

/** The purpose of the space, in messages. */
const purpose = 'this restore'

/** How often the free space is checked, in milliseconds. */
const checkEveryMs = 100

/**
 * Unpacks and verifies a backup beside the data, each file on the disk where it will lie, and works out what would change. The
 * node stays as it is. When this is killed, the next restore or start removes what was unpacked. The caller has the lock of the
 * restores.
 *
 * @throws NodekeepError NOT_FOUND, VALIDATION_ERROR for an archive that is damaged, forged or of a newer format, or a key that
 *   does not open it, CONFLICT for one with a storage that this node does not have or of a newer version, INSUFFICIENT_STORAGE; or
 *   the signal's reason
 */
export async function prepareRestore(
  services: RestoreServices,
  request: RestoreRequest,
): Promise<RestoreFolder> {
  try {
    return await prepare(services, request)
  } catch (error) {
    throw explainFullDisk(error, purpose)
  }
}

async function prepare(
  { dataFolder, folders, restores, hasBackend }: RestoreServices,
  request: RestoreRequest,
): Promise<RestoreFolder> {
  await folders.removeUnplanned()
  const { header } = await readHeader(request.file)
  const { without } = request
  const storages = restoredStorages(header, { folders: await restores.folders(), hasBackend, without })
  const plain = storages.flatMap(({ path, place }) =>
    typeof place === 'string' ? [] : [{ path, root: place.folder }],
  )
  for (const { root } of plain) {
    const made = await makeFolder(root)
    if (made !== null) await giveToNode(dataFolder, [made])
  }
  const backup = basename(request.file)
  const roots = plain.map(({ root }) => root)
  const folder = await folders.begin({ backup, moment: header.created }, roots)
  try {
    const placed = plain.map(({ path, root }, index) => {
      const elsewhere = folder.record.elsewhere[index] as string
      return { path, root, elsewhere, fresh: join(elsewhere, 'new') }
    })
    await unpack(folder, placed, request)
    const unpacked = join(folder.path, 'unpacked')
    await checkLayout(
      unpacked,
      backup,
      storages.map(({ path }) => path),
    )
    await request.onUnpacked?.(unpacked)
    await arrangeUnpacked(folder, storages, request.sample)
    await restores.migrateState({
      file: join(folder.path, 'new', 'state.sqlite'),
      takenAt: new Date(header.created),
      nodekeep: header.nodekeep,
      plugins: header.plugins,
    })
    const differences = await differencesOf(
      { database: join(dataFolder, 'state.sqlite'), plugins: join(dataFolder, 'plugins'), isFixed: false },
      {
        database: join(folder.path, 'new', 'state.sqlite'),
        plugins: join(folder.path, 'new', 'plugins'),
        isFixed: true,
      },
    )
    const moves = [
      ...movesOfNodeData(dataFolder, folder, request),
      ...(await Promise.all(placed.map(movesOfUsers))).flat(),
    ]
    const identity = await restoredIdentity(
      join(dataFolder, 'identity', 'node.key'),
      join(folder.path, 'new', 'node.key'),
      request,
    )
    await folder.note({ state: 'ready', moves, differences: { ...differences, identity } })
    return folder
  } catch (error) {
    await folder.remove()
    throw error
  }
}

interface PlacedStorage {
  readonly path: string
  /** The folder of plain files. */
  readonly root: string
  /** The folder of the restore in it. */
  readonly elsewhere: string
  readonly fresh: string
}

async function unpack(
  folder: RestoreFolder,
  placed: readonly PlacedStorage[],
  { file, identities, sample, signal, onProgress }: RestoreRequest,
): Promise<void> {
  const unpacked = join(folder.path, 'unpacked')
  const disks = new Map<number, string>()
  for (const path of [unpacked, ...placed.map(({ fresh }) => fresh)]) disks.set((await stat(path)).dev, path)
  const onDisks = (look: (path: string) => Promise<void>) => Promise.all([...disks.values()].map(look))
  // The content of an archive is hardly smaller than the archive. Only unpacking shows how much of it goes to which disk.
  const size = sample?.maxBytes ?? (await bytesOfBackup(file))
  await onDisks((path) => requireFreeSpace(path, disks.size === 1 ? size : 0, purpose))
  let maxBytes = 0
  await onDisks(async (path) => {
    const { bavail, bsize } = await statfs(path)
    maxBytes += bavail * bsize
  })
  if (sample !== undefined) maxBytes = Number.MAX_SAFE_INTEGER
  const full = new AbortController()
  const timer = setInterval(() => {
    onDisks((path) => requireFreeSpace(path, 0, purpose)).catch((error) => full.abort(error))
  }, checkEveryMs)
  try {
    await unpackBackup(file, unpacked, {
      maxBytes,
      identities,
      signal: AbortSignal.any([signal, full.signal]),
      others: placed.map(({ path, fresh }) => ({ below: path, folder: fresh })),
      ...(sample && { sample }),
      ...(onProgress && { onProgress }),
    })
    await onDisks((path) => requireFreeSpace(path, 0, purpose))
  } catch (error) {
    if (!(error instanceof NodekeepError && error.code === 'PAYLOAD_TOO_LARGE')) throw error
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      `The disk has too little space for ${purpose}: ${basename(file)} holds more than ${Math.floor(maxBytes / 1024 ** 2)} MiB, which are free. ` +
        'Delete old backups, or keep the data on a larger disk.',
      { cause: error },
    )
  } finally {
    clearInterval(timer)
  }
}

/** The moves of everything but the files of users. The kernel moves the write-ahead log of the former state together with it. */
function movesOfNodeData(
  dataFolder: string,
  { path }: RestoreFolder,
  { newIdentity }: RestoreRequest,
): RestoreMove[] {
  const move = (name: string, place: string): RestoreMove => {
    return {
      from: join(path, 'new', name),
      to: join(dataFolder, place),
      previous: join(path, 'previous', place),
    }
  }
  const identity = move('node.key', 'identity/node.key')
  const hasIdentity = existsSync(join(path, 'new', 'node.key'))
  return [
    move('state.sqlite', 'state.sqlite'),
    move('plugins', 'plugins'),
    ...(newIdentity ? [{ ...identity, from: null }] : hasIdentity ? [identity] : []),
  ]
}

/**
 * Each folder of a user is moved by itself, since the folder of a storage may be a mount point. What is kept of deleted and replaced files
 * stays, unless the backup has it.
 */
async function movesOfUsers({ path, root, elsewhere, fresh }: PlacedStorage): Promise<RestoreMove[]> {
  const restored = new Set(await foldersIn(fresh, path))
  const present = (await readdir(root)).filter(isUserFolder)
  return [...new Set([...restored, ...present])].sort().map((name) => ({
    from: restored.has(name) ? join(fresh, name) : null,
    to: join(root, name),
    previous: join(elsewhere, 'previous', name),
  }))
}

import { existsSync } from 'node:fs'
import { chmod, mkdir, open, readdir, rename, rmdir, stat, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  NodekeepError,
  type NodeRestores,
  type RestoredEntry,
  type RestoreMove,
  restoredEntriesFile,
} from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { kernelParts } from '../archive/backup-header.ts'
import { jsonLine, manifestEntries } from '../archive/manifest.ts'
import { bytesOfBackup, readHeader, unpackBackup } from '../archive/read-archive.ts'
import { Sample, type SampleRule } from '../archive/sample.ts'
import { explainFullDisk, requireFreeSpace } from '../create/free-space.ts'
import { makeFolder, syncFolder } from '../stored/durable-folder.ts'
import { differencesOf } from './differences.ts'
import { giveToNode } from './give-to-node.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'
import { restoredIdentity } from './restored-identity.ts'
import { type HasBackend, type RestoredStorage, restoredStorages } from './restored-storages.ts'
import { checkLayout } from './unpacked-layout.ts'

/** What a person wants to restore, and how. */
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

interface RestoreParts {
  readonly dataFolder: string
  readonly folders: RestoreFolders
  readonly restores: Pick<NodeRestores, 'folders' | 'adoptState'>
  readonly hasBackend: HasBackend
}

/** The folders of users in a storage. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What needs space, in messages. */
const purpose = 'this restore'

/** How often the free space is looked at, in milliseconds. */
const lookEveryMs = 100

/**
 * Unpacks and verifies a backup beside the data, each file on the disk where it will lie, and works out what would change. The
 * node stays as it is. When this is killed, the next restore or start removes what was unpacked. The caller has the lock of the
 * restores.
 *
 * @throws NodekeepError NOT_FOUND, VALIDATION_ERROR for an archive that is damaged, forged or of a newer format, or a key that
 *   does not open it, CONFLICT for one with a storage that this node does not have or of a newer version, INSUFFICIENT_STORAGE; or
 *   the signal's reason
 */
export async function prepareRestore(parts: RestoreParts, request: RestoreRequest): Promise<RestoreFolder> {
  try {
    return await prepare(parts, request)
  } catch (error) {
    throw explainFullDisk(error, purpose)
  }
}

async function prepare(
  { dataFolder, folders, restores, hasBackend }: RestoreParts,
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
    await arrange(folder, storages, request.sample)
    await restores.adoptState({
      file: join(folder.path, 'new', 'state.sqlite'),
      moment: new Date(header.created),
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
      ...ownMoves(dataFolder, folder, request),
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
  // What an archive holds is hardly smaller than itself. Which of several disks gets how much of it shows when it is unpacked.
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
  }, lookEveryMs)
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

/** Brings what was unpacked into the form in which it is put in place, by renames. */
async function arrange(
  { path }: RestoreFolder,
  storages: readonly RestoredStorage[],
  sample: SampleRule | undefined,
): Promise<void> {
  const [unpacked, fresh] = [join(path, 'unpacked'), join(path, 'new')]
  const plugins = join(fresh, 'plugins')
  await rename(join(unpacked, 'state', 'state.sqlite'), join(fresh, 'state.sqlite'))
  await chmod(join(fresh, 'state.sqlite'), 0o600)
  if (existsSync(join(unpacked, 'state', 'plugins')))
    await rename(join(unpacked, 'state', 'plugins'), plugins)
  else await mkdir(plugins)

  for (const { name, path: archived, place } of storages) {
    if (place !== 'left-out' || !existsSync(join(unpacked, archived))) continue
    await mkdir(join(path, 'left-out'), { recursive: true, mode: 0o700 })
    await rename(join(unpacked, archived), join(path, 'left-out', name))
  }
  for (const { path: archived, place } of storages) {
    if (place === 'plugin' && existsSync(join(unpacked, archived)))
      await usersIn(join(unpacked, archived), archived)
  }
  const participants = (await readdir(unpacked, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !kernelParts.has(entry.name))
    .map(({ name }) => name)
  for (const name of participants) {
    // Without the folders of storages, nothing may be left.
    if ((await readdir(join(unpacked, name))).length === 0) continue
    await mkdir(join(plugins, name), { recursive: true })
    await rename(join(unpacked, name), join(plugins, name, 'restored'))
  }
  await listRestoredEntries(join(unpacked, 'manifest.json'), plugins, sample)
  await makePrivate(plugins)

  const key = join(unpacked, 'identity', 'node.key')
  if (existsSync(key)) {
    await rename(key, join(fresh, 'node.key'))
    await chmod(join(fresh, 'node.key'), 0o600)
  }
  const configuration = join(unpacked, 'configuration')
  if (existsSync(configuration)) await rename(configuration, join(path, 'configuration'))
  await emptyFolder(unpacked)
  await rmdir(unpacked)
  for (const changed of [fresh, path]) await syncFolder(changed)
}

/** Lists the dates of creation of each plugin's files, which a disk cannot be told. */
async function listRestoredEntries(
  manifest: string,
  plugins: string,
  rule: SampleRule | undefined,
): Promise<void> {
  const sample = rule && new Sample(rule)
  const batches = new Map<string, string[]>()
  const store = async (participant: string, lines: string[]) => {
    await mkdir(join(plugins, participant), { recursive: true })
    const file = await open(join(plugins, participant, restoredEntriesFile), 'a', 0o600)
    try {
      await file.write(lines.splice(0).join(''))
      await file.sync()
    } finally {
      await file.close()
    }
  }
  for await (const manifestEntry of manifestEntries(manifest)) {
    const { path, type, size, modified, created = modified } = manifestEntry
    if (sample?.includes(manifestEntry) === false) continue
    const slash = path.indexOf('/')
    const participant = path.slice(0, slash)
    if (type !== 'file' || slash < 0 || kernelParts.has(participant)) continue
    const entry: RestoredEntry = { path: path.slice(slash + 1), size, modified, created }
    const lines = batches.get(participant) ?? []
    batches.set(participant, lines)
    if (lines.push(`${jsonLine(entry)}\n`) === 1000) await store(participant, lines)
  }
  for (const [participant, lines] of batches) if (lines.length > 0) await store(participant, lines)
}

/** Gives the folders and databases of plugins the rights with which the node makes them. */
async function makePrivate(plugins: string): Promise<void> {
  await chmod(plugins, 0o700)
  for (const plugin of await readdir(plugins)) {
    const folder = join(plugins, plugin)
    await chmod(folder, 0o700)
    for (const name of await readdir(folder)) {
      if (name.endsWith('.sqlite')) await chmod(join(folder, name), 0o600)
    }
    await syncFolder(folder)
  }
  await syncFolder(plugins)
}

/** The moves of everything but the files of users. The kernel takes the write-ahead log of the former state away with it. */
function ownMoves(
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
  const hasIdentity = identity.from !== null && existsSync(identity.from)
  return [
    move('state.sqlite', 'state.sqlite'),
    move('plugins', 'plugins'),
    ...(newIdentity ? [{ ...identity, from: null }] : hasIdentity ? [identity] : []),
  ]
}

/** Each folder of a user is moved by itself, since the folder of a storage may be a mount point. */
async function movesOfUsers({ path, root, elsewhere, fresh }: PlacedStorage): Promise<RestoreMove[]> {
  const restored = new Set(await usersIn(fresh, path))
  const present = (await readdir(root)).filter((name) => uuid.test(name))
  return [...new Set([...restored, ...present])].sort().map((name) => ({
    from: restored.has(name) ? join(fresh, name) : null,
    to: join(root, name),
    previous: join(elsewhere, 'previous', name),
  }))
}

/**
 * The folders of users in an unpacked storage.
 *
 * @param path its path in the archive
 * @throws NodekeepError VALIDATION_ERROR if something else is there
 */
async function usersIn(folder: string, path: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const odd = entries.find((entry) => !entry.isDirectory() || !uuid.test(entry.name))
  if (odd === undefined) return entries.map(({ name }) => name)
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `The backup cannot be restored: ${JSON.stringify(`${path}/${odd.name}`)} is not the folder of a user.`,
  )
}

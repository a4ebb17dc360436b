import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Log, NodeRestores, NodeTrials } from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { manifestEntries } from '../archive/manifest.ts'
import { readHeader } from '../archive/read-archive.ts'
import type { SampleRule } from '../archive/sample.ts'
import { type UserMount, userMounts, userPathOf } from '../archive/user-files.ts'
import { requireFreeSpace } from '../create/free-space.ts'
import { prepareRestore } from '../restore/prepare-restore.ts'
import { RestoreFolders } from '../restore/restore-folder.ts'
import { type ComparedNode, compareNode } from './compare-node.ts'
import type { TriedContents } from './tried-contents.ts'

/** A backup to try out. */
export interface DrilledBackup {
  readonly file: string
  /** Bytes of its content. */
  readonly bytes: number
  /** Secret halves of the keys that open it. */
  readonly identities: readonly string[]
}

export interface DrillServices {
  /** The folder of the drill, which is made and removed. */
  readonly folder: string
  readonly restores: Pick<NodeRestores, 'folders' | 'migrateState'>
  readonly trials: NodeTrials
  /** Notes what a backup has that passes. */
  readonly contents: Pick<TriedContents, 'note'>
  readonly log: Pick<Log, 'warn'>
}

interface DrillOptions {
  /** Bytes of files that are restored and compared, drawn at random. All others are only verified. By default all are restored. */
  readonly sampleBytes?: number
  readonly signal: AbortSignal
}

/** A drill that a backup has passed. */
interface PassedDrill extends ComparedNode {
  /** How long it took until the restored node answered. */
  readonly seconds: number
}

/**
 * Restores a backup into an empty folder, as a person would, starts a second node on it, and compares that node with the backup.
 *
 * @throws Error with the reason; NodekeepError INSUFFICIENT_STORAGE if the disk has no room for it; the signal's reason
 */
export async function drill(
  { folder, restores, trials, contents, log }: DrillServices,
  { file, bytes, identities }: DrilledBackup,
  { sampleBytes, signal }: DrillOptions,
): Promise<PassedDrill> {
  await removeFolder(folder)
  const startedAt = performance.now()
  try {
    const data = join(folder, 'data')
    await mkdir(data, { recursive: true, mode: 0o700 })
    await requireFreeSpace(folder, sampleBytes ?? bytes, 'the drill of a backup')
    const [{ header }, { size }] = [await readHeader(file), await stat(file)]
    const own = await restores.folders()
    const folders = own.map(({ plugin, key }) => ({
      plugin,
      key,
      path: join(folder, 'storages', `${plugin}-${key}`),
    }))
    // A trial must not write into a storage that the running node uses.
    const { restored = [], without = [] } = Object.groupBy(header.folders ?? [], ({ plugin, key }) =>
      own.some((one) => one.plugin === plugin && one.key === key) ? 'restored' : 'without',
    )
    const paths = restored.map(({ path }) => path)
    const sample: { readonly sample?: SampleRule } =
      sampleBytes === undefined
        ? {}
        : {
            sample: {
              drawn: paths,
              without: without.map(({ path }) => path),
              // Half of the room is for the first files of users, and for large ones.
              share: Math.min(1, sampleBytes / bytes / 2),
              maxBytes: sampleBytes,
              seed: randomUUID(),
            },
          }
    const [manifest, users] = [join(folder, 'manifest.json'), join(folder, 'users.json')]
    const prepared = await prepareRestore(
      {
        dataFolder: data,
        folders: new RestoreFolders(data, {
          state: async () => ({ planned: null, applied: null }),
          folders: async () => [],
        }),
        restores: { folders: async () => folders, migrateState: (state) => restores.migrateState(state) },
        hasBackend: () => true,
      },
      {
        file,
        identities,
        newIdentity: false,
        without: without.map(({ path }) => basename(path)),
        ...sample,
        signal,
        async onUnpacked(unpacked) {
          await copyPrivately(join(unpacked, 'manifest.json'), manifest)
          await copyPrivately(join(unpacked, 'state', 'users.json'), users)
        },
      },
    )
    const { moment, moves = [] } = prepared.record
    await using trial = await trials.start({
      data,
      folders,
      restore: { backup: prepared.name, takenAt: new Date(moment), moves },
      signal,
    })
    const seconds = Math.ceil((performance.now() - startedAt) / 1000)
    const compared = await compareNode({
      trial,
      manifest,
      users,
      plugins: header.plugins.map(({ id }) => id),
      mounts: userMounts(header).map(({ point, archived }) => ({
        point,
        archived: archived !== null && paths.includes(archived) ? archived : null,
      })),
      ...sample,
      signal,
    })
    // A backup is as good without it.
    await contents
      .note(basename(file), size, contentsOf(manifest, userMounts(header), signal))
      .catch((err) => log.warn({ err }, 'The contents of a backup that passed its drill could not be noted.'))
    return { ...compared, seconds }
  } finally {
    await removeFolder(folder).catch((err) =>
      log.warn(
        { err, folder },
        'The folder of a drill could not be removed. The next drill or start tries again.',
      ),
    )
  }
}

/** The contents of all files of users in a backup, also of those that the second node was not compared with: their checksums agree. */
async function* contentsOf(manifest: string, mounts: readonly UserMount[], signal: AbortSignal) {
  for await (const { path, sha256 } of manifestEntries(manifest)) {
    signal.throwIfAborted()
    const seen = sha256 === undefined ? null : userPathOf(path, mounts)
    if (sha256 !== undefined && seen !== null) yield { uuid: seen.uuid, sha256 }
  }
}

/** A copy by the system has the rights of its source. */
async function copyPrivately(from: string, to: string): Promise<void> {
  await pipeline(createReadStream(from), createWriteStream(to, { mode: 0o600 }))
}

/** Removes the folder of a drill, also one that a crash has left. Paths in it may be too long for the system. */
export async function removeFolder(folder: string): Promise<void> {
  try {
    await emptyFolder(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  await rm(folder, { recursive: true, force: true })
}

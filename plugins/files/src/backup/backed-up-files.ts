import type { BackupEntry, BackupOmission, StorageEntry, StorageSnapshot } from '@nodekeep/plugin-sdk'
import type { JournalSnapshot } from '../journal/journal-snapshot.ts'
import { keptFolder } from '../mounts/kept-folder.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { root, type UserPath } from '../paths/user-path.ts'
import { type IncludedKept, keptOmission } from './included-kept.ts'

/** The snapshot of the backend of one mount. */
export interface MountSnapshot {
  /** The name of the backend. */
  readonly name: string
  readonly point: UserPath
  readonly snapshot: StorageSnapshot
  /** The folders of the users. */
  readonly homes: readonly StorageEntry[]
  /** The folders of what is kept of the users, if a part of it is included. */
  readonly keptUsers: readonly StorageEntry[]
}

/** The parts of a snapshot that all of its backends share. */
export interface SnapshotState {
  readonly journal: JournalSnapshot
  /** When the state was fixed. */
  readonly at: Date
  readonly mounts: Mounts
  readonly include: IncludedKept
}

/** The folders of users, which have the uuid of the user as their name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const zeros = Buffer.alloc(64 * 1024)

const nothing: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} }

/** Finds the folders of the users in a snapshot. What it leaves out, and what belongs to no user, gets into `omitted`. */
export async function mountSnapshot(
  { name, point }: Pick<MountSnapshot, 'name' | 'point'>,
  snapshot: StorageSnapshot,
  include: IncludedKept,
  omitted: BackupOmission[],
): Promise<MountSnapshot> {
  const isKeptIncluded = include.trash || include.versions
  for (const { what, why } of snapshot.omitted) {
    if (isKeptIncluded || !what.startsWith(`${keptFolder}/`)) omitted.push({ what: `${name}${what}`, why })
  }
  const homes: StorageEntry[] = []
  const keptUsers: StorageEntry[] = []
  for await (const entry of snapshot.list('/')) {
    if (entry.type === 'directory' && uuid.test(entry.name)) homes.push(entry)
    else if (`/${entry.name}` === keptFolder) {
      const why = keptOmission(include)
      if (why !== null) omitted.push({ what: `${name}${keptFolder}`, why })
      if (isKeptIncluded) keptUsers.push(...(await foldersOfUsers(snapshot)))
    } else omitted.push({ what: `${name}/${entry.name}`, why: 'It belongs to no user.' })
  }
  return { name, point, snapshot, homes, keptUsers }
}

async function foldersOfUsers(snapshot: StorageSnapshot): Promise<StorageEntry[]> {
  const all = await Array.fromAsync(snapshot.list(keptFolder))
  return all.filter(({ name, type }) => type === 'directory' && uuid.test(name))
}

/**
 * The files of all users on one backend: a folder, all its entries in their order, then the folders in it in their order.
 * Copies that do not have their final name yet are left out.
 */
export async function* backedUpFiles(
  mount: MountSnapshot,
  state: SnapshotState,
  changed: Set<string>,
): AsyncGenerator<BackupEntry, void, undefined> {
  const { name, snapshot, homes } = mount
  for (const home of homes) {
    const user = home.name
    yield folderEntry(`${name}/${user}`, home)
    // Without recursion: with it, every level would pass on all entries of the levels below.
    const folders = [`/${user}`]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const inside: string[] = []
      for await (const entry of snapshot.list(folder)) {
        const path = `${folder}/${entry.name}`
        const userPath = userPathOf(mount, path.slice(user.length + 1))
        if (state.journal.isStaged(user, userPath)) continue
        if (entry.type === 'directory') {
          inside.push(path)
          yield folderEntry(`${name}${path}`, entry)
        } else {
          const known = state.journal.createdOf(user, userPath, entry)
          yield fileEntry({ mount, path, entry, created: known ?? entry.created }, state, changed)
        }
      }
      for (const path of inside.reverse()) folders.push(path)
    }
  }
}

/** The path of a user's file, as the user knows it. */
function userPathOf({ point }: MountSnapshot, rest: string): string {
  return point === root ? rest : `${point}${rest}`
}

export function folderEntry(
  path: string,
  { modified, created }: Pick<StorageEntry, 'modified' | 'created'>,
): BackupEntry {
  return { path, type: 'directory', size: 0, modified, created, open: () => nothing }
}

interface BackedUpFile {
  readonly mount: MountSnapshot
  readonly path: string
  readonly entry: StorageEntry
  readonly created: Date
}

export function fileEntry(
  { mount, path, entry, created }: BackedUpFile,
  { at }: Pick<SnapshotState, 'at'>,
  changed: Set<string>,
): BackupEntry {
  const { size, modified } = entry
  const { snapshot } = mount
  const archivePath = `${mount.name}${path}`
  const onChange = () => changed.add(archivePath)
  // The snapshot has only files that were complete then.
  if (modified > at && modified <= new Date()) onChange()
  return {
    path: archivePath,
    type: 'file',
    size,
    modified,
    created,
    open: () => exactly(snapshot, path, entry, onChange),
    ...(snapshot.link && { link: async (to) => (await snapshot.link?.(path, to)) ?? false }),
  }
}

/** The content of a file as it was listed: cut, or filled with zeros, if the file has another size now. */
async function* exactly(
  snapshot: StorageSnapshot,
  path: string,
  { size, revision }: StorageEntry,
  onChange: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { entry, content } = await snapshot.read(path, { reuseBuffers: true })
  if (entry.revision !== revision) onChange()
  let left = size
  for await (const chunk of content) {
    const wanted = chunk.subarray(0, left)
    left -= wanted.length
    if (wanted.length > 0) yield wanted
    if (left === 0) break
  }
  for (; left > 0; left -= Math.min(left, zeros.length)) yield zeros.subarray(0, left)
}

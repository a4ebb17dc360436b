import {
  type FileIndex,
  type FilesService,
  type FolderUsage,
  isNodekeepError,
  NodekeepError,
  type RoutesApp,
  type Static,
  type User,
  type UserDirectory,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { ExternalScans } from '../external/external-scans.ts'
import type { Journal } from '../journal/journal.ts'
import { keptBytesOf } from '../kept/kept-bytes.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { isBelow, root, userPath } from '../paths/user-path.ts'
import type { Quotas } from '../quota/quotas.ts'
import type { Rooms } from '../quota/rooms.ts'
import { allUsage, folderUsage, usageQuery } from './schemas.ts'

export interface UsageRouteServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly journal: Pick<Journal, 'keptOf'>
  readonly mounts: Pick<Mounts, 'points' | 'pointOf' | 'pointOfStorage' | 'storageAt' | 'spaceAt'>
  readonly users: Pick<UserDirectory, 'list'>
  readonly external: Pick<ExternalScans, 'notice'>
  readonly quotas: Pick<Quotas, 'of' | 'hasOwn'>
  readonly rooms: Pick<Rooms, 'takenBy'>
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
}

type AllUsage = Static<typeof allUsage>

/** Registers `GET /api/files/usage` and `GET /api/files/usage/all`. */
export function usageRoutes(app: RoutesApp, services: UsageRouteServices): void {
  const { journal, mounts, users, quotas, rooms, signal } = services
  const ofFolder = {
    operationId: 'getFolderUsage',
    summary: 'Tell how much room a folder takes, and its largest folders',
    querystring: usageQuery,
    response: { 200: folderUsage },
  }
  app.get('/api/files/usage', { schema: ofFolder, config: { scope: 'files:read' } }, async (request) => {
    const path = userPath(request.query.path ?? root)
    const user = userOf(request)
    const { folders, ...usage } = await usageOf(services, user, path)
    const bytes = quotas.of(user.uuid)
    const isOneStorage = !mounts.points.some((point) => isBelow(point, path))
    return {
      ...usage,
      folders: folders.map(({ name, path, size, below }) => ({ name, path, bytes: size, entries: below })),
      space: isOneStorage ? await mounts.spaceAt(mounts.pointOf(path), signal) : null,
      kept: await keptBytesOf(journal, mounts, user.uuid),
      quota: bytes === null ? null : { bytes, taken: await rooms.takenBy(user.uuid) },
    }
  })

  const ofAll = {
    operationId: 'getUsageOfAll',
    summary: 'Tell how much room the files of all users take, and how much is free',
    response: { 200: allUsage },
  }
  app.get('/api/files/usage/all', { schema: ofAll, config: { access: 'owner' } }, async () => {
    const points = mounts.points.toSorted()
    const byUser = await usageByUser(services.index)
    const all: AllUsage['users'] = []
    for await (const { uuid, username } of users.list()) {
      const known = byUser.get(uuid)
      const each = points.map((mount) => known?.get(mount) ?? { mount, ...nothing })
      const isComplete = each.every((one) => one.isComplete)
      const kept = await keptBytesOf(journal, mounts, uuid)
      const quota = { quota: quotas.of(uuid), hasOwnQuota: quotas.hasOwn(uuid) }
      all.push({ uuid, username, ...sumOf(each), kept, isComplete, ...quota, mounts: each })
    }
    const perMount = points.map(async (mount) => ({
      mount,
      storage: mounts.storageAt(mount),
      ...sumOf([...byUser.values()].flatMap((of) => of.get(mount) ?? [])),
      space: await mounts.spaceAt(mount, signal),
    }))
    return { users: all.sort((a, b) => b.bytes - a.bytes), mounts: await Promise.all(perMount) }
  })
}

const nothing = { bytes: 0, entries: 0, isComplete: false }

type MountOfUser = AllUsage['users'][number]['mounts'][number]

/** The usage of each user by mount. */
async function usageByUser(index: FileIndex): Promise<Map<string, Map<string, MountOfUser>>> {
  const found = new Map<string, Map<string, MountOfUser>>()
  for await (const { userUuid, ...usage } of index.usage()) {
    const ofUser = found.get(userUuid) ?? new Map<string, MountOfUser>()
    found.set(userUuid, ofUser.set(usage.mount, usage))
  }
  return found
}

function sumOf(each: readonly Pick<MountOfUser, 'bytes' | 'entries'>[]) {
  const bytes = each.reduce((sum, one) => sum + one.bytes, 0)
  return { bytes, entries: each.reduce((sum, one) => sum + one.entries, 0) }
}

/**
 * The usage of a folder. One that the index does not have yet is counted as empty and not complete.
 *
 * @throws NodekeepError NOT_FOUND if nothing is at the path, CONFLICT if it is a file
 */
async function usageOf(
  { files, index, external }: UsageRouteServices,
  user: User,
  path: string,
): Promise<FolderUsage> {
  try {
    const usage = await index.for(user).usage(path)
    if (!usage.isComplete) external.notice(user.uuid)
    return usage
  } catch (error) {
    if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
    const { type } = await files.for(user).stat(path)
    if (type === 'file') throw new NodekeepError('CONFLICT', 'This is a file. Only a folder has entries.')
    external.notice(user.uuid)
    return { path, bytes: 0, entries: 0, isComplete: false, folders: [] }
  }
}

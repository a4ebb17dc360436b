import {
  type ChangeMaker,
  changeGroupPattern,
  FairSlots,
  type FileChangeOptions,
  type FilesService,
  invalid,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { ChangeRecorder } from './changes/change-recorder.ts'
import { byOtherPrograms } from './journal/change.ts'
import type { Journal } from './journal/journal.ts'
import type { Mounts } from './mounts/mounts.ts'
import { copy } from './operations/copying.ts'
import type { CrossMountMoves } from './operations/cross-mount-moves.ts'
import { definedOnly } from './operations/defined-only.ts'
import { list } from './operations/listing.ts'
import { makeDirectory } from './operations/make-directory.ts'
import { move } from './operations/moving.ts'
import { read, stat } from './operations/reading.ts'
import { remove } from './operations/removal.ts'
import type { Scope } from './operations/scope.ts'
import { write } from './operations/writing.ts'
import type { PathLocks } from './paths/path-locks.ts'
import { userPath } from './paths/user-path.ts'
import type { Rooms } from './quota/rooms.ts'

/** Characters in the name of a device. */
const longestDeviceName = 100
/** Characters in the id and in the name of a maker. */
const longestMakerId = 100
const longestMakerName = 255
const groupPattern = new RegExp(changeGroupPattern)

interface FilesServices {
  readonly mounts: Mounts
  readonly journal: Journal
  readonly recorder: ChangeRecorder
  readonly crossMountMoves: CrossMountMoves
  readonly locks: PathLocks
  readonly rooms: Rooms
  /** Bytes. */
  readonly maxFileSize: number
}

/**
 * Files of one user that are copied at a time: a short request can copy any number of bytes, so without a bound one user could take
 * the whole node. Within a folder, they share the syncs of the folder and of the journal.
 */
const copiesPerUser = 8

/** Gives each user access to their files. Paths are checked and normalized here, and nowhere below. */
export function createFilesService(services: FilesServices): FilesService {
  const { locks } = services
  const copySlots = new FairSlots({ mostPerKey: copiesPerUser })
  const since = new Date()
  return {
    maxFileSize: services.maxFileSize,
    holdRoom: ({ uuid }, bytes = 0) => services.rooms.hold(uuid, null, bytes),
    for: ({ uuid }, origin = {}) =>
      userFiles({
        ...services,
        since,
        copySlots,
        userUuid: uuid,
        origin: originOf(origin),
        locate: (path) => services.mounts.locate(uuid, path),
        lock: (paths, signal) => locks.acquire(uuid, paths, signal),
        tryLock: (paths) => locks.tryAcquire(uuid, paths),
      }),
  }
}

function userFiles(scope: Scope): UserFiles {
  /** The scope of a change that may name its own origin. */
  const withOrigin = (options?: FileChangeOptions): Scope =>
    options === undefined ? scope : { ...scope, origin: { ...scope.origin, ...originOf(options) } }
  return {
    stat: async (path) => stat(scope, userPath(path)),
    async *list(path, options) {
      yield* list(scope, userPath(path), options)
    },
    read: async (path, options) => read(scope, userPath(path), options),
    write: async (path, content, options) => write(withOrigin(options), userPath(path), content, options),
    makeDirectory: async (path, options) => makeDirectory(withOrigin(options), userPath(path)),
    remove: async (path, options) => remove(withOrigin(options), userPath(path), options),
    move: async (source, destination, options) =>
      move(
        withOrigin(options),
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        options,
      ),
    copy: async (source, destination, options) =>
      copy(
        withOrigin(options),
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        options,
      ),
  }
}

const makerKinds: readonly unknown[] = [
  'session',
  'token',
  'program',
  'plugin',
] satisfies ChangeMaker['kind'][]

/**
 * The origin of changes, of all options.
 *
 * @throws NodekeepError VALIDATION_ERROR for a name of a device that stands for other programs, and for parts of another form: a plugin in
 *   JavaScript may pass anything
 */
function originOf({ by, maker, group }: FileChangeOptions): FileChangeOptions {
  if (by !== undefined && !isText(by, longestDeviceName))
    throw invalid(`The name of the device must be text of 1 to ${longestDeviceName} characters.`)
  if (by === byOtherPrograms)
    throw invalid(
      `"${byOtherPrograms}" stands for the changes of other programs. Give the device another name.`,
    )
  if (group !== undefined && !(typeof group === 'string' && groupPattern.test(group)))
    throw invalid('The group of a change must be 1 to 64 letters, digits, "-", "_" and ".".')
  return definedOnly({ by, maker: maker === undefined ? undefined : makerOf(maker), group })
}

/** The parts of a maker, and nothing else: the journal keeps it as JSON. */
function makerOf({ kind, id, name, user }: ChangeMaker): ChangeMaker {
  const isValid =
    makerKinds.includes(kind) &&
    isText(id, longestMakerId) &&
    (name === undefined || isText(name, longestMakerName)) &&
    (user === undefined || isText(user, longestMakerId))
  if (!isValid) throw invalid('The maker of a change has no valid kind, id, name or user.')
  return { kind, id, ...definedOnly({ name, user }) }
}

function isText(text: unknown, longest: number): boolean {
  return typeof text === 'string' && text !== '' && text.length <= longest
}

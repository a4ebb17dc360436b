import { type AsideVersion, conflictPath } from './conflict-name.ts'
import type {
  Clock,
  Disk,
  Incoming,
  LocalContent,
  LocalEntry,
  LocalFileEntry,
  Remote,
  RemoteFileEntry,
} from './ports.ts'
import type { Step } from './reconcile.ts'
import type { LocalRecord, Replicas } from './replicas.ts'
import { SyncFailure } from './sync-failure.ts'
import { isOutcome, type RemoteRecord } from './sync-state.ts'

/** Bytes of files for which the node is not asked whether it takes them. To read them takes no longer. */
const mostUnasked = 1024 * 1024

/** Bytes of a file that the node reads again before a conflict. Also a slow storage reads them before the client gives up waiting. */
const mostReadAgain = 256 * 1024 * 1024

/** Everything that a step works with. */
interface StepServices {
  readonly replicas: Replicas
  readonly disk: Disk
  readonly remote: Remote
  readonly clock: Clock
  /** The name of the device, for conflict copies. */
  readonly deviceName: string
}

type LocalFile = LocalRecord & LocalFileEntry
type RemoteFile = RemoteRecord & RemoteFileEntry

/**
 * Makes the step of a path. Each change of the disk and of the node happens only if they still are as the decision expected. The
 * state is recorded after the change: if the client is killed between both, it finds the same content on both sides.
 *
 * @throws SyncFailure `changed` if they are not; nothing was changed then
 */
export async function applyStep(services: StepServices, path: string, step: Step): Promise<void> {
  const { replicas, disk, remote } = services
  const { state } = replicas
  switch (step.do) {
    case 'nothing':
      return
    case 'forget':
      state.setCommon(path, null)
      return state.endUnansweredUploads(path)
    case 'recordCommon':
      return recordCommon(replicas, path)
    case 'recordRemote': {
      const file = remoteFile(replicas, path)
      return state.setSame(path, file.sha256 ?? '', file, null)
    }
    case 'compare':
      return compare(services, path, step.sides)
    case 'upload':
      return upload(services, path)
    case 'download':
      return download(services, path)
    case 'makeRemoteFolder':
      return changeNode(
        replicas,
        [path],
        () => remote.makeFolder(path),
        () => {
          replicas.setRemoteFolders(path)
          replicas.setRemote(path, { type: 'directory' })
          state.setSameFolder(path)
        },
      )
    case 'makeLocalFolder':
      await disk.makeFolder(path)
      replicas.setLocalFolders(path)
      replicas.setLocal(path, { type: 'directory' })
      return state.setSameFolder(path)
    case 'removeLocal':
      return removeLocal(services, path)
    case 'removeRemote':
      return removeRemote(services, path)
    case 'conflict':
      await checkConflict(services, path)
      return step.keep === 'remote' ? moveLocalAside(services, path) : copyRemoteAside(services, path)
  }
}

function recordCommon(replicas: Replicas, path: string): void {
  const [local, remote] = [replicas.local.get(path), replicas.state.remote.get(path)]
  if (local?.type === 'file' && remote?.type === 'file') {
    const common = replicas.state.common.get(path)
    const sha256 = local.sha256 ?? remote.sha256 ?? (common?.type === 'file' ? common.sha256 : '')
    replicas.state.setSame(path, sha256, remote, local)
  } else {
    replicas.state.setSameFolder(path)
  }
}

async function compare(
  services: StepServices,
  path: string,
  sides: readonly ('local' | 'remote')[],
): Promise<void> {
  const { replicas, disk, remote } = services
  if (sides.includes('local')) {
    const file = localFile(replicas, path)
    await refuseTooLarge(remote, file)
    const content = await disk.read(path, file)
    await content.close()
    if (replicas.local.get(path) === file) replicas.setLocal(path, { ...file, sha256: content.sha256 })
  }
  if (sides.includes('remote')) await hashRemote(services, path, remoteFile(replicas, path))
}

/** Asks the node for the SHA-256 of a file, and takes note of it. */
async function hashRemote(
  { replicas, remote }: StepServices,
  path: string,
  { revision }: RemoteFile,
  isFresh = false,
): Promise<string> {
  const sha256 = await remote.hash(path, revision, isFresh)
  if (sha256 === null) throw changed(`The node has another version of ${path}.`)
  const now = replicas.state.remote.get(path)
  if (now?.type === 'file' && now.revision === revision) replicas.setRemote(path, { ...now, sha256 })
  return sha256
}

/**
 * Lets the node read a file again before two versions of equal size are both kept. Another program may have given it the bytes of the local
 * file without another size or time.
 *
 * @throws SyncFailure `changed` if the node has other bytes than it told
 */
async function checkConflict(services: StepServices, path: string): Promise<void> {
  const { replicas } = services
  const [local, there] = [replicas.local.get(path), replicas.state.remote.get(path)]
  if (local?.type !== 'file' || there?.type !== 'file' || local.size !== there.size) return
  if (there.size > mostReadAgain) return
  const sha256 = await hashRemote(services, path, there, true)
  if (sha256 !== there.sha256) throw changed(`The node has other bytes of ${path} than it told.`)
}

async function upload({ replicas, disk, remote }: StepServices, path: string): Promise<void> {
  const { state } = replicas
  const file = localFile(replicas, path)
  await refuseTooLarge(remote, file)
  const there = state.remote.get(path)
  const source = there === undefined ? await movedFrom(replicas, disk, path, file) : null
  // If the source were removed meanwhile, the content would have to be sent.
  if (source !== null) replicas.busy.add(source.path)
  try {
    const content = await disk.read(path, file)
    try {
      if (source?.sha256 === content.sha256) return await moveRemotely(replicas, remote, source, path, file)
      state.addUnansweredUpload(path, content.sha256)
      const revision = there?.type === 'file' ? there.revision : null
      await changeNode(
        replicas,
        [path],
        () => remote.write(path, content, revision),
        (entry) => {
          replicas.setRemoteFolders(path)
          replicas.setRemote(path, entry)
          state.setSame(path, content.sha256, entry, file)
        },
      )
    } finally {
      await content.close()
    }
  } finally {
    if (source !== null) replicas.busy.delete(source.path)
  }
}

/** To read a file of many gigabytes takes minutes, and again after each change. */
async function refuseTooLarge(remote: Remote, { size }: LocalFile): Promise<void> {
  if (size <= mostUnasked) return
  const most = await remote.largestFile()
  if (size <= most) return
  throw new SyncFailure(
    'refused',
    `The file is too large. The node takes files of at most ${most} bytes (storage.maxFileSize).`,
  )
}

/** A file that may have been moved on the disk, as the node has it. */
interface MoveSource {
  readonly path: string
  readonly sha256: string
  readonly revision: string
}

/** Finds where a new local file may come from, if the node still has the common version there. */
async function movedFrom(
  replicas: Replicas,
  disk: Disk,
  path: string,
  file: LocalFile,
): Promise<MoveSource | null> {
  const { state } = replicas
  const source = file.moveIdentity === '' ? undefined : state.pathOfMove(file.moveIdentity)
  if (source === undefined || source === path || replicas.isBusy(source)) return null
  // The file may have been seen at its new path before it is missed at the former one.
  if (replicas.local.get(source) !== undefined && (await disk.stat(source)) === null)
    replicas.setLocal(source, null)
  const [common, there] = [state.common.get(source), state.remote.get(source)]
  if (replicas.local.get(source) || replicas.isBusy(source)) return null
  if (common?.type !== 'file' || state.isStale(source, common) || there?.type !== 'file') return null
  const { sha256, revision } = common
  return revision === there.revision ? { path: source, sha256, revision } : null
}

async function moveRemotely(
  replicas: Replicas,
  remote: Remote,
  { path: source, sha256, revision }: MoveSource,
  path: string,
  file: LocalFile,
): Promise<void> {
  const { state } = replicas
  const former = remoteFile(replicas, source)
  state.addUnansweredUpload(path, sha256)
  try {
    await changeNode(
      replicas,
      [source, path],
      () => remote.move(source, path, revision),
      (moved) => {
        const entry = { ...former, revision: moved }
        replicas.setRemoteFolders(path)
        replicas.setRemote(source, null)
        replicas.setRemote(path, entry)
        state.setCommon(source, null)
        state.setSame(path, sha256, entry, file)
      },
    )
  } catch (error) {
    // Without a scan of the source, the same move would be tried again and again.
    state.markDirty(source)
    throw error
  }
}

async function download(services: StepServices, path: string): Promise<void> {
  const { replicas, disk } = services
  const { state } = replicas
  const file = remoteFile(replicas, path)
  const there = replicas.local.get(path)
  const replaced = there?.type === 'file' ? there : null
  const source = replaced === null ? movedTo(replicas, path, file) : null
  if (source !== null) return moveLocally(replicas, disk, source, path, file)
  const former = replaced === null ? null : await disk.read(path, replaced)
  let incoming: Incoming
  try {
    incoming = await receive(services, path, file, former)
  } finally {
    await former?.close()
  }
  try {
    const entry = await disk.place(incoming, path, replaced)
    replicas.setLocalFolders(path)
    setPlaced(replicas, path, entry, incoming.sha256)
    state.setSame(path, incoming.sha256, file, entry)
  } finally {
    await incoming.discard()
  }
}

/** Records a file that was placed on the disk. If another program has changed it already, a scan finds out what is there. */
function setPlaced(replicas: Replicas, path: string, entry: LocalFileEntry | null, sha256: string): void {
  if (entry === null) replicas.dirtyLocal.add(path)
  else replicas.setLocal(path, { ...entry, sha256 })
}

/**
 * Receives a file of the node. Another program, or a disk that fails, may have changed bytes and neither their number nor the time. So the
 * node reads the file again if they are not those that it told.
 *
 * @throws SyncFailure `unavailable` if the node has other bytes
 */
async function receive(
  services: StepServices,
  path: string,
  file: RemoteFile,
  former: LocalContent | null,
): Promise<Incoming> {
  const { disk, remote } = services
  const incoming = await disk.receive(remote.read(path, file, former), file)
  const { size, sha256 } = incoming
  if (size === file.size && (file.sha256 === undefined || sha256 === file.sha256)) return incoming
  try {
    const isWhole = size === file.size && former === null
    if (isWhole && (await remote.hash(path, file.revision, true)) === sha256) return incoming
  } catch (error) {
    await incoming.discard()
    throw error
  }
  await incoming.discard()
  if (former === null) throw otherBytes(path)
  // The parts that were not sent may be other ones by now.
  return receive(services, path, file, null)
}

/** The path of a local file that the node has moved to a path: it has the same revision there. */
function movedTo(replicas: Replicas, path: string, file: RemoteFile): string | null {
  const source = replicas.state.pathOfRevision(file.revision)
  if (source === undefined || source === path || replicas.isBusy(source)) return null
  const [common, local] = [replicas.state.common.get(source), replicas.local.get(source)]
  if (common?.type !== 'file' || local?.type !== 'file' || replicas.state.remote.get(source)) return null
  return common.identity === local.identity ? source : null
}

async function moveLocally(
  replicas: Replicas,
  disk: Disk,
  source: string,
  path: string,
  file: RemoteFile,
): Promise<void> {
  const { state } = replicas
  const moved = localFile(replicas, source)
  const common = state.common.get(source)
  const sha256 = common?.type === 'file' ? common.sha256 : ''
  replicas.busy.add(source)
  try {
    const entry = await disk.move(source, path, moved)
    state.transaction(() => {
      replicas.setLocal(source, null)
      replicas.setLocalFolders(path)
      replicas.setLocal(path, entry.type === 'file' ? { ...entry, sha256 } : entry)
      state.setCommon(source, null)
      if (entry.type === 'file') state.setSame(path, sha256, file, entry)
    })
  } catch (error) {
    replicas.dirtyLocal.add(source)
    throw error
  } finally {
    replicas.busy.delete(source)
  }
}

async function removeLocal({ replicas, disk }: StepServices, path: string): Promise<void> {
  const local = replicas.local.get(path)
  if (local?.type === 'file') {
    await disk.trash(path, local)
  } else {
    await disk.removeFolder(path).catch((error: unknown) => {
      // Something in it is not synced, so the folder stays, and the node gets it again.
      if (error instanceof SyncFailure && error.kind === 'changed') replicas.state.setCommon(path, null)
      throw error
    })
  }
  replicas.setLocal(path, null)
  replicas.state.setCommon(path, null)
}

async function removeRemote({ replicas, disk, remote }: StepServices, path: string): Promise<void> {
  const [local, there] = [replicas.local.get(path), replicas.state.remote.get(path)]
  const now = await disk.stat(path)
  if (now?.type !== local?.type) throw changed(`${path} is on the disk again.`)
  const revision = there?.type === 'file' ? there.revision : null
  await changeNode(
    replicas,
    [path],
    () => remote.remove(path, revision),
    () => {
      replicas.setRemote(path, null)
      replicas.state.setCommon(path, null)
      replicas.state.endUnansweredUploads(path)
    },
  )
}

/** Gives the local version another name. The version of the node then comes as a new file. */
async function moveLocalAside(services: StepServices, path: string): Promise<void> {
  const { replicas, disk, clock, deviceName } = services
  const { state } = replicas
  const local = replicas.local.get(path)
  const file = local?.type === 'file' ? local : null
  const shared = file === null ? null : lastCommonContent(replicas, path, file)
  const version =
    file === null || shared === null
      ? { device: deviceName, time: clock.now() }
      : { device: null, time: file.modified }
  const aside = await asideFor(services, path, version, shared)
  let entry: LocalEntry | null = null
  if (aside !== null) entry = await disk.move(path, aside, file)
  else if (file !== null) await disk.trash(path, file)
  state.transaction(() => {
    for (const each of state.common.within(path)) state.setCommon(each, null)
    for (const each of replicas.local.within(path)) {
      replicas.setLocal(each, null)
      // The content goes on under another name. Whoever gives it this one again is not this device.
      state.endUnansweredUploads(each)
    }
    if (aside === null || entry === null) return
    replicas.setLocal(aside, entry)
    if (entry.type === 'directory') replicas.dirtyLocal.add(aside)
  })
}

/** The SHA-256 of a local file if it is the last version that this device and the node had in common. Other devices have it too then. */
function lastCommonContent(
  { state }: Replicas,
  path: string,
  { sha256, identity }: LocalFile,
): string | null {
  const common = state.common.get(path)
  if (common?.type !== 'file' || common.sha256 === '') return null
  return common.sha256 === sha256 || (common.identity !== '' && common.identity === identity)
    ? common.sha256
    : null
}

/**
 * The path beside another one for a version that loses its name. `null` if that is not needed, because another device, or this one
 * before it was killed, has put the version there.
 *
 * @param sha256 the content of a version that other devices have too; `null` if only this one has it
 */
async function asideFor(
  { replicas, disk, remote }: StepServices,
  path: string,
  version: AsideVersion,
  sha256: string | null,
): Promise<string | null> {
  const first = conflictPath(path, version, () => false)
  const [local, there] = [replicas.local.get(first), replicas.state.remote.get(first)]
  if (sha256 !== null && there?.type === 'file') {
    if ((await remote.hash(first, there.revision)) === sha256) return null
  } else if (sha256 !== null && local?.type === 'file') {
    const content = await disk.read(first, local)
    await content.close()
    if (content.sha256 === sha256) return null
  }
  return conflictPath(path, version, (each) => replicas.isTaken(each))
}

/** Gives the version of the node another name on this disk. The local version is then uploaded in its place. */
async function copyRemoteAside(services: StepServices, path: string): Promise<void> {
  const { replicas, disk } = services
  const file = remoteFile(replicas, path)
  let { sha256 = '' } = file
  const aside = await asideFor(services, path, { device: null, time: file.modified }, sha256)
  if (aside !== null) {
    const incoming = await receive(services, path, file, null)
    try {
      const entry = await disk.place(incoming, aside, null)
      sha256 = incoming.sha256
      setPlaced(replicas, aside, entry, sha256)
    } finally {
      await incoming.discard()
    }
  }
  replicas.state.setSame(path, sha256, file, null)
  replicas.touch(path)
}

/**
 * Changes paths on the node, and records the answer. If a scan has seen paths change meanwhile, the answer may be older than the scan:
 * they are scanned again.
 */
async function changeNode<T>(
  replicas: Replicas,
  paths: readonly string[],
  request: () => Promise<T>,
  record: (answer: T) => void,
): Promise<void> {
  const { state } = replicas
  state.transaction(() => {
    for (const path of paths) state.expectChange(path)
  })
  using change = replicas.beginRemoteChange(paths)
  const answer = await request().catch((error: unknown) => {
    // The node has answered that it did not.
    if (error instanceof SyncFailure && error.kind !== 'unavailable')
      for (const path of paths) state.endChange(path)
    throw error
  })
  const touched = paths.filter((path) => change.isTouched(path))
  state.transaction(() => {
    record(answer)
    for (const path of paths) {
      state.noteAnswer(path)
      for (const told of change.toldOf(path)) state.confirm(path, told)
    }
    for (const path of touched) {
      // The journal may have told this change before the answer. What somebody else has made of the path since, it tells later.
      const told = change.toldOf(path).at(-1)
      const isAnswer = told !== undefined && isOutcome(told, state.remote.get(path) ?? null)
      if (!isAnswer) state.markDirty(path)
    }
  })
}

function localFile(replicas: Replicas, path: string): LocalFile {
  const file = replicas.local.get(path)
  if (file?.type !== 'file') throw changed(`${path} is no file on the disk any more.`)
  return file
}

function remoteFile(replicas: Replicas, path: string): RemoteFile {
  const file = replicas.state.remote.get(path)
  if (file?.type !== 'file') throw changed(`${path} is no file on the node any more.`)
  return file
}

function otherBytes(path: string): SyncFailure {
  return new SyncFailure('unavailable', `The node sent other bytes than those of ${path}.`)
}

function changed(message: string): SyncFailure {
  return new SyncFailure('changed', message)
}

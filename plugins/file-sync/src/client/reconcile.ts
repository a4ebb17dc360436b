/** The last state that this device and the node had in common at a path. */
type CommonState = (
  | { readonly type: 'directory' }
  | {
      readonly type: 'file'
      readonly sha256: string
      /** The revision that the node gave the content. */
      readonly revision: string
    }
) & {
  /**
   * Only the content still counts: a path that is missing on one side was not deleted there. The node was reset since then, as after
   * a restore of an older backup, or this device may have moved or removed the path there itself.
   */
  readonly isStale: boolean
}

/** A path on the disk of this device. */
export type LocalState =
  | { readonly type: 'directory'; readonly isEmpty: boolean }
  | {
      readonly type: 'file'
      /** Whether the file is untouched since the common state, as far as its size, times and inode tell. */
      readonly isCommon: boolean
      /** `null` if it is not known yet. */
      readonly sha256: string | null
      /** Milliseconds since 1970. */
      readonly modified: number
    }

/** A path on the node. */
export type RemoteState =
  | { readonly type: 'directory'; readonly isEmpty: boolean }
  | {
      readonly type: 'file'
      readonly revision: string
      /** `null` if it is not known yet. */
      readonly sha256: string | null
      /** Milliseconds since 1970. */
      readonly modified: number
    }

/** All that is known of one path. `null` means that nothing is there. */
export interface Situation {
  readonly common: CommonState | null
  readonly local: LocalState | null
  readonly remote: RemoteState | null
  /** SHA-256 of uploads whose answers did not arrive. A file with such a content on the node is our own. */
  readonly unansweredUploads: ReadonlySet<string>
  /** Whether paths below are still to be reconciled. It matters where one side has a folder and the other a file. */
  readonly isOpenBelow: boolean
}

/**
 * The next step for a path. One situation may take several steps.
 *
 * - `nothing`: both sides are in the common state, or a path below or above must be reconciled before.
 * - `compare`: the hashes of the named sides are needed.
 * - `recordCommon`: both sides have the same. Record it as the common state.
 * - `recordRemote`: the local file is based on what the node has. Record that as the common state.
 * - `forget`: the path is gone on both sides. An upload without an answer did not arrive.
 * - `upload`, `makeRemoteFolder`, `removeRemote`: change the node, if it still has the known state.
 * - `download`, `makeLocalFolder`, `removeLocal`: change the disk, if it still has the known state.
 * - `conflict`: both sides have something of their own. `keep` gets the name, and the other side a name beside it.
 */
export type Step =
  | { readonly do: 'nothing' | 'recordCommon' | 'recordRemote' | 'forget' }
  | { readonly do: 'compare'; readonly sides: readonly ('local' | 'remote')[] }
  | { readonly do: 'upload' | 'makeRemoteFolder' | 'removeRemote' }
  | { readonly do: 'download' | 'makeLocalFolder' | 'removeLocal' }
  | { readonly do: 'conflict'; readonly keep: 'local' | 'remote' }

type CommonFile = CommonState & { readonly type: 'file' }
type LocalFile = LocalState & { readonly type: 'file' }
type RemoteFile = RemoteState & { readonly type: 'file' }

const nothing: Step = { do: 'nothing' }
const localAside: Step = { do: 'conflict', keep: 'remote' }

/**
 * Decides the next step for a path. It removes something on a side only if this side has exactly the common state there, and
 * only if the other side had the common state and then removed it. Wherever it is in doubt, both sides are kept.
 */
export function reconcile(situation: Situation): Step {
  const { local, remote } = situation
  // Without a valid common state, something that is missing is new on the other side.
  const common = situation.common?.isStale === true ? null : situation.common
  if (local === null && remote === null) {
    return situation.common === null && situation.unansweredUploads.size === 0 ? nothing : { do: 'forget' }
  }
  if (local === null) return withoutLocal(situation, common, remote)
  if (remote === null) return withoutRemote(common, local)
  if (local.type === 'file') {
    if (remote.type === 'file') return filesOnBothSides(situation, common, local, remote)
    return localFileAndRemoteFolder(situation, common, local, remote.isEmpty)
  }
  if (remote.type === 'file') return localFolderAndRemoteFile(situation, common, local.isEmpty, remote)
  return common?.type === 'directory' ? nothing : { do: 'recordCommon' }
}

function withoutLocal(
  { unansweredUploads }: Situation,
  common: CommonState | null,
  remote: RemoteState | null,
): Step {
  if (remote?.type === 'file') {
    if (isCommonRevision(common, remote)) return { do: 'removeRemote' }
    return ownUpload(unansweredUploads, remote) ?? { do: 'download' }
  }
  if (common?.type !== 'directory') return { do: 'makeLocalFolder' }
  return remote?.isEmpty === true ? { do: 'removeRemote' } : nothing
}

function withoutRemote(common: CommonState | null, local: LocalState): Step {
  if (local.type === 'directory') {
    if (common?.type !== 'directory') return { do: 'makeRemoteFolder' }
    return local.isEmpty ? { do: 'removeLocal' } : nothing
  }
  if (common?.type !== 'file' || local.isCommon)
    return { do: common?.type === 'file' ? 'removeLocal' : 'upload' }
  if (local.sha256 === null) return { do: 'compare', sides: ['local'] }
  return { do: local.sha256 === common.sha256 ? 'removeLocal' : 'upload' }
}

function filesOnBothSides(
  { common: known, unansweredUploads }: Situation,
  common: CommonState | null,
  local: LocalFile,
  remote: RemoteFile,
): Step {
  const base = common?.type === 'file' ? common : null
  if (base !== null && remote.revision === base.revision) return changedLocally(base, local)
  if (base !== null && local.isCommon) return { do: 'download' }
  const compared = compare(local, remote)
  if (compared !== null) return compared
  if (remote.sha256 === local.sha256) return { do: 'recordCommon' }
  // The node has the content that the local file was made from.
  const former = known?.type === 'file' ? known.sha256 : null
  const isOwn = remote.sha256 !== null && unansweredUploads.has(remote.sha256)
  if (isOwn || remote.sha256 === former) return { do: 'recordRemote' }
  if (local.sha256 === former) {
    if (base !== null) return { do: 'download' }
    // After a restore, the node has an older version, or a newer one of another device. Both are kept.
    return { do: 'conflict', keep: local.modified > remote.modified ? 'local' : 'remote' }
  }
  return localAside
}

function changedLocally(base: CommonFile, local: LocalFile): Step {
  if (local.isCommon) return nothing
  if (local.sha256 === null) return { do: 'compare', sides: ['local'] }
  return { do: local.sha256 === base.sha256 ? 'recordCommon' : 'upload' }
}

function localFileAndRemoteFolder(
  { isOpenBelow }: Situation,
  common: CommonState | null,
  local: LocalFile,
  isEmpty: boolean,
): Step {
  if (common?.type === 'directory') {
    if (isEmpty) return { do: 'removeRemote' }
    return isOpenBelow ? nothing : localAside
  }
  if (common === null) return localAside
  if (local.isCommon) return { do: 'removeLocal' }
  if (local.sha256 === null) return { do: 'compare', sides: ['local'] }
  return local.sha256 === common.sha256 ? { do: 'removeLocal' } : localAside
}

function localFolderAndRemoteFile(
  { isOpenBelow, unansweredUploads }: Situation,
  common: CommonState | null,
  isEmpty: boolean,
  remote: RemoteFile,
): Step {
  if (isCommonRevision(common, remote)) return { do: 'removeRemote' }
  if (common?.type === 'directory') {
    if (isEmpty) return { do: 'removeLocal' }
    return isOpenBelow ? nothing : localAside
  }
  return ownUpload(unansweredUploads, remote) ?? localAside
}

function isCommonRevision(common: CommonState | null, remote: RemoteFile): boolean {
  return common?.type === 'file' && common.revision === remote.revision
}

/** The step if the remote file may be an upload of ours. */
function ownUpload(unansweredUploads: ReadonlySet<string>, remote: RemoteFile): Step | null {
  if (unansweredUploads.size === 0) return null
  if (remote.sha256 === null) return { do: 'compare', sides: ['remote'] }
  return unansweredUploads.has(remote.sha256) ? { do: 'recordRemote' } : null
}

/** The step if a hash is missing. */
function compare(local: LocalFile, remote: RemoteFile): Step | null {
  const sides = [
    ...(local.sha256 === null ? (['local'] as const) : []),
    ...(remote.sha256 === null ? (['remote'] as const) : []),
  ]
  return sides.length > 0 ? { do: 'compare', sides } : null
}

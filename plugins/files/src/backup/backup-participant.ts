import {
  type BackupOmission,
  type BackupParticipant,
  type BackupSnapshot,
  type HaltedSnapshot,
  haltTogether,
  NodekeepError,
  type PreparedSnapshot,
  type StorageSnapshot,
} from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import type { JournalSnapshot } from '../journal/journal-snapshot.ts'
import type { MountedBackend, Mounts } from '../mounts/mounts.ts'
import type { CrossMountMoves } from '../operations/cross-mount-moves.ts'
import type { Release } from '../paths/path-locks.ts'
import { backedUpFiles, mountSnapshot, type SnapshotState } from './backed-up-files.ts'
import { backedUpKept, keptListEntry } from './backed-up-kept.ts'
import { includedKept } from './included-kept.ts'
import { lineOf } from './kept-list.ts'

/** A backend whose snapshot is prepared. */
interface PreparedMount {
  readonly mount: MountedBackend
  readonly snapshot: PreparedSnapshot<StorageSnapshot>
}

/**
 * The files of all users in backups, at `<backend>/<user uuid>/<path>`, and what is kept of deleted and replaced ones, if it is included. The
 * backends of all mounts halt, and then the state of the journal is fixed: it has the dates of creation, and the copies without a final name.
 */
export function filesInBackups(
  mounts: Mounts,
  journal: Journal,
  crossMountMoves: CrossMountMoves,
): BackupParticipant {
  return {
    async prepare(signal, options = { include: [] }) {
      const include = includedKept(options)
      const omitted: BackupOmission[] = []
      if (mounts.isRestoring) {
        throw new NodekeepError(
          'SERVICE_UNAVAILABLE',
          'Files are being restored from a backup. Make a backup when they are in their storage.',
        )
      }
      const prepared = await prepareAll(mounts.backends, omitted, signal)
      let resume: Release | undefined
      let journalSnapshot: JournalSnapshot | undefined
      let isTaken = false
      const release = async () => {
        resume?.()
        if (isTaken) return
        isTaken = true
        journalSnapshot?.close()
        await Promise.all(prepared.map(({ snapshot }) => snapshot.release()))
      }
      try {
        resume = await crossMountMoves.pause(signal)
        journalSnapshot = journal.openSnapshot()
        return { halt, release }
      } catch (error) {
        await release()
        throw error
      }

      async function halt(): Promise<HaltedSnapshot<BackupSnapshot>> {
        const halted = await haltTogether(prepared.map(({ snapshot }) => snapshot))
        return {
          async fix() {
            const fixed = journalSnapshot as JournalSnapshot
            fixed.fix()
            const at = new Date()
            const snapshots = await halted.fix()
            isTaken = true
            const names = prepared.map(({ mount }) => mount)
            return snapshotOf(names, snapshots, { journal: fixed, at, mounts, include, omitted })
          },
          [Symbol.asyncDispose]() {
            resume?.()
            return halted[Symbol.asyncDispose]()
          },
        }
      }
    },
  }
}

/** Prepares the snapshots of all backends, side by side. Those that cannot make snapshots are left out. */
async function prepareAll(
  backends: readonly MountedBackend[],
  omitted: BackupOmission[],
  signal: AbortSignal,
): Promise<PreparedMount[]> {
  const outcomes = await Promise.allSettled(
    backends.map(async (mount) => {
      const { name, backend } = mount
      if (backend === null) omitted.push({ what: name, why: 'No plugin provides this storage backend.' })
      const snapshot = await backend?.prepareSnapshot?.(signal)
      if (backend !== null && snapshot === undefined)
        omitted.push({ what: name, why: 'This storage backend cannot make snapshots.' })
      return snapshot === undefined ? [] : [{ mount, snapshot }]
    }),
  )
  const prepared = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed === undefined) return prepared
  await Promise.allSettled(prepared.map(({ snapshot }) => snapshot.release()))
  throw failed.reason
}

interface FixedState extends SnapshotState {
  readonly omitted: BackupOmission[]
}

function snapshotOf(
  backends: readonly MountedBackend[],
  snapshots: readonly StorageSnapshot[],
  state: FixedState,
): BackupSnapshot {
  const { include, omitted } = state
  const isKeptIncluded = include.trash || include.versions
  const nameOf = (index: number) => (backends[index] as MountedBackend).name
  const changed = new Set<string>()
  const ended = new AbortController()
  // Everything may still stand still, so this goes on beside. If the copy fails, the journal keeps the dates until the release.
  const reading = state.journal
    .load(ended.signal)
    .then(async () => {
      if (isKeptIncluded) await state.journal.copyKept(include, lineOf, ended.signal)
    })
    .then(() => state.journal.copyDates(ended.signal).catch(() => {}))
  const listing = Promise.all(
    snapshots.map((snapshot, index) =>
      mountSnapshot(backends[index] as MountedBackend, snapshot, include, omitted),
    ),
  )
  const ending = Promise.allSettled([reading, listing])
  let released: Promise<void> | undefined
  const release = () => {
    ended.abort()
    const releasing = snapshots.map((snapshot) => snapshot.release())
    released ??= Promise.all([ending, ...releasing]).then(() => state.journal.close())
    return released
  }
  return {
    async omitted() {
      await listing
      return omitted
    },
    folders: Object.fromEntries(backends.map(({ name, backend }) => [name, backend?.plainFolder ?? null])),
    mounts: state.mounts.toJSON(),
    get changed() {
      const read = snapshots.flatMap((snapshot, index) =>
        snapshot.changed.map((path) => `${nameOf(index)}${path}`),
      )
      return [...new Set([...changed, ...read])]
    },
    async *entries() {
      await reading
      for (const mount of await listing) {
        yield* backedUpFiles(mount, state, changed)
        if (isKeptIncluded) yield* backedUpKept(mount, state, changed)
      }
      if (isKeptIncluded) yield keptListEntry(state)
    },
    release,
  }
}

import type { Readable } from 'node:stream'
import { defineRegistry } from '../service.ts'

/** One file of a snapshot. */
export interface BackupEntry {
  /** Relative to the participant's folder in the archive, `/`-separated. */
  readonly path: string
  /** Bytes. The stream yields exactly as many. */
  readonly size: number
  readonly modified: Date
  open(): Readable
}

/** A consistent state of one part, fixed at the moment of `prepare`. */
export interface BackupSnapshot {
  /** The entries of the state at `prepare`. Later writes do not change them. */
  entries(): AsyncIterable<BackupEntry>
  /** The omitted parts with the reasons, for the manifest and for people. */
  readonly omitted?: readonly { readonly what: string; readonly why: string }[]
  /** Releases the resources of the snapshot. It is always called, also after a failure. */
  release(): Promise<void>
}

/** A part of the node with state that backups contain. Its name in the registry is its folder in the archive. */
export interface BackupParticipant {
  /** Fixes a consistent state. No participant accepts writes during `prepare`, so it must be short. */
  prepare(signal: AbortSignal): Promise<BackupSnapshot>
  /**
   * Restores entries into an empty folder, at a start of the node, before any plugin reads its state. After an
   * interruption it is called again with all entries.
   */
  restore(entries: AsyncIterable<BackupEntry>, signal: AbortSignal): Promise<void>
}

/** The parts of the node that a backup contains. */
export const BackupParticipants = defineRegistry<BackupParticipant>('backup-participants', 1)

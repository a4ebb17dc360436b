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
  /** The entries of the state as it was at `prepare`, whatever was written since. */
  entries(): AsyncIterable<BackupEntry>
  /** Whatever is left out and why, for the manifest and for people. */
  readonly omitted?: readonly { readonly what: string; readonly why: string }[]
  /** Gives up what the snapshot holds. Always called, also after a failure. */
  release(): Promise<void>
}

/** A part of the node that has a state worth keeping. The name in the registry is its folder in the archive. */
export interface BackupParticipant {
  /** Fixes a consistent state. Runs under a write gate that all participants share, so it has to be short. */
  prepare(signal: AbortSignal): Promise<BackupSnapshot>
  /**
   * Takes entries back into an empty place, at a start of the node and before any plugin reads its state. It may
   * be interrupted and is then called again with all entries.
   */
  restore(entries: AsyncIterable<BackupEntry>, signal: AbortSignal): Promise<void>
}

/** All parts that a backup holds. */
export const BackupParticipants = defineRegistry<BackupParticipant>('backup-participants', 1)

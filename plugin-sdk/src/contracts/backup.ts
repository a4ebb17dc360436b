import type { Readable } from 'node:stream'
import { defineRegistry, lackingMethod } from '../service.ts'

/** One file of a snapshot. */
export interface BackupEntry {
  /** Relative to the participant's folder in the archive, `/`-separated. */
  readonly path: string
  /** Bytes. The stream yields exactly as many. */
  readonly size: number
  readonly modified: Date
  /** When the file was created, if that is known and differs from `modified`. */
  readonly created?: Date
  open(): Readable
}

/** Something that a snapshot leaves out, for the header of the archive and for people. */
export interface BackupOmission {
  readonly what: string
  readonly why: string
}

/** A consistent state of one part, as it was at the moment of the backup. */
export interface BackupSnapshot {
  /** The entries of the state at the moment. Later changes do not change them. */
  entries(): AsyncIterable<BackupEntry>
  /** Complete when `entries` has ended. */
  readonly omitted: readonly BackupOmission[]
  /** Releases the resources of the snapshot. It is always called, also after a failure. */
  release(): Promise<void>
}

/**
 * A part of the node with state that backups contain. Its name in the registry is its folder in the archive.
 *
 * Participants nest, so that all stand still at one moment and none longer than needed: the first one brings its changes
 * to a halt and calls `atMoment`, which prepares the second one, and so on. When the last one stands still, each fixes its
 * state and goes on.
 *
 * A participant has no method to restore. The node puts the files of an archive in their places before a plugin runs; a
 * plugin that must act on it finds `restored` in its context.
 */
export interface BackupParticipant {
  /**
   * Fixes a state. It brings changes to a halt, calls `atMoment` once, and lets changes go on when that has resolved. The state
   * is the one at the call. Work that can happen before or after, such as listing files, must not happen during the halt.
   *
   * @param atMoment rejects when another participant failed; then release everything and reject with the same error
   * @param signal aborted when the participant takes too long, or when the backup is cancelled
   */
  prepare(atMoment: () => Promise<void>, signal: AbortSignal): Promise<BackupSnapshot>
}

/** The parts of the node that a backup contains. */
export const BackupParticipants = defineRegistry<BackupParticipant>('backup-participants', 1, (participant) =>
  lackingMethod(participant, 'prepare'),
)

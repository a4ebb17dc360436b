import { defineService } from '../service.ts'

/** One file or folder that a restore replaces. All paths are absolute, on one file system, and none is within another. */
export interface RestoreMove {
  /** The new content, which is moved to `to`; `null` to only remove the former content. */
  readonly from: string | null
  readonly to: string
  /** Where the former content of `to` is kept. Nothing is there yet. */
  readonly previous: string
}

/** A restore for the next start of the node, which applies it before it opens anything. */
export interface RestorePlan {
  /** The name of the backup, for people. */
  readonly backup: string
  /** The moment of the backup's state. */
  readonly moment: Date
  readonly moves: readonly RestoreMove[]
}

/** Plans restores. */
export interface NodeRestores {
  /**
   * Stores a plan durably, in place of an earlier one that was not applied yet. The next start of the node applies it after it
   * has locked the data folder and before it opens a database, by renames that can be interrupted at any step.
   *
   * @throws NodekeepError VALIDATION_ERROR if a path is relative, or within another one or the same; if a move crosses file
   *   systems, if something to move is missing, or if there is something at `previous`
   */
  plan(plan: RestorePlan): Promise<void>
}

/** The kernel's service that plans restores. */
export const Restores = defineService<NodeRestores>('node-restores', 1)

/** A restore that the node has applied, as a plugin sees it until it has acted on it. */
export interface Restored {
  /** The name of the backup. */
  readonly backup: string
  /** The moment of the backup's state. Everything that happened later is unknown to this node. */
  readonly moment: Date
  /** Call it when the plugin has acted on the restore: later starts do not tell of it again. */
  acknowledge(): Promise<void>
}

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
  /** The name of the backup or of its restore, for people and for {@link RestoresState}. */
  readonly backup: string
  /** The time of the backup's state. */
  readonly takenAt: Date
  readonly moves: readonly RestoreMove[]
}

/** A folder that a plugin keeps outside of its own data folder, such as the root of a storage. */
export interface NodeFolder {
  /** The id under which the configuration loads the plugin. */
  readonly plugin: string
  /** The key of the plugin's section that names the folder. */
  readonly key: string
  /** The absolute path. The folder may not exist yet. */
  readonly path: string
}

/** The kernel's database of a backup, and what has made it. */
export interface RestoredState {
  /** The unpacked `state.sqlite`, an absolute path. Nothing uses it. */
  readonly file: string
  /** The time of the backup's state. */
  readonly takenAt: Date
  /** The version of Nodekeep that has made the backup. */
  readonly nodekeep: string
  /** The plugins that worked then, with the versions of their packages. */
  readonly plugins: readonly { readonly id: string; readonly version: string }[]
}

/** The restores of a node, by the names of their plans. */
export interface RestoresState {
  /** The one that the next start applies, or goes on to apply; `null` for none. */
  readonly planned: string | null
  /** The last one that a start has applied, as a whole; `null` for none. */
  readonly applied: string | null
}

/** Plans restores. */
export interface NodeRestores {
  /** Tells which restore is planned, and which one was applied. Nothing else records this. */
  state(): Promise<RestoresState>
  /**
   * Returns the folders that the manifests of the enabled plugins declare (`nodekeep.folders`), as the configuration sets them. The
   * plugins are not imported, and one whose package is missing is left out.
   *
   * @throws Error that names the key whose value is wrong
   */
  folders(): Promise<readonly NodeFolder[]>
  /** Returns the enabled plugins whose packages are there, with the versions of the packages. They are not imported. */
  plugins(): Promise<readonly { readonly id: string; readonly version: string }[]>
  /**
   * Makes the kernel's database of a backup fit for this node: checks that it is whole and that a node has made it, brings it to the
   * form of this version, and removes everything from it that gives access, such as sessions, since a forged backup may have them.
   * Call it before {@link plan}, and before a person is asked.
   *
   * @throws NodekeepError VALIDATION_ERROR if it is not the state of a node; CONFLICT if this version of the node, or of one of its
   *   plugins, does not know its form: the message names both versions
   */
  migrateState(state: RestoredState): Promise<void>
  /**
   * Stores a plan durably, in place of an earlier one that was not applied yet. The next start of the node applies it after it
   * has locked the data folder and before it opens a database, by renames that can be interrupted at any step. If something to
   * move is missing by then, it changes nothing, and the node does not start. The write-ahead log of a database
   * (`state.sqlite-wal` and `-shm`) goes to `previous` with it; a plan does not name these files.
   *
   * Every plugin learns of the applied restore, also one that the backup does not know: see `restored` in its context.
   *
   * @throws NodekeepError VALIDATION_ERROR if a path is relative, or within another one or the same; if a move crosses mounts
   *   or replaces a mount point, if something to move is missing, or if there is something at `previous`; CONFLICT if the node has begun to apply
   *   an earlier plan and was interrupted
   */
  plan(plan: RestorePlan): Promise<void>
  /**
   * Takes the plan back, durably. If a start has begun to apply it and has failed, everything goes back to where it was. The
   * content to restore stays where the plan found it.
   *
   * @returns the name of the backup; `null` if nothing was planned
   */
  cancel(): Promise<string | null>
}

/** The kernel's service that plans restores. */
export const Restores = defineService<NodeRestores>('node-restores', 2)

/** A restore that the node has applied, as a plugin sees it until it has acted on it. */
export interface Restored {
  /** The name of the backup. */
  readonly backup: string
  /** The time of the backup's state. Everything that happened later is unknown to this node. */
  readonly takenAt: Date
  /** Call it when the plugin has acted on the restore: later starts do not tell of it again. */
  acknowledge(): Promise<void>
}

import { defineRegistry, lackingMethod } from '../service.ts'
import type { PreparedSnapshot } from './prepared-snapshot.ts'

/** One file or folder of a snapshot. A folder is there so that it comes back even if it is empty. */
export interface BackupEntry {
  /** Relative to the participant's folder in the archive, `/`-separated. A folder comes before what is in it. */
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a folder. */
  readonly size: number
  readonly modified: Date
  /** When the file was created, if that is known. */
  readonly created?: Date
  /**
   * Opens the content, which has exactly `size` bytes. An archive needs the size before the bytes, so a file that another
   * program changes in place is cut, or filled with zeros, to the size that it had when it was listed. It then gets into
   * `changed` of the snapshot. Of a folder, the content is empty. A chunk is used before the next one is requested: its memory may
   * be used again. A stream of Node (`Readable`) will do.
   */
  open(): AsyncIterable<Uint8Array>
  /**
   * Makes a hard link to the file with this content, which takes no space and little time: for a view of the snapshot that other
   * programs read. The link stays as it is after the release of the snapshot. Only a program that writes into it in place, or
   * into another link, changes it, and all links with it. Undefined where the content is not a file on a disk.
   *
   * @param path where the link is made; nothing exists there
   * @returns false if it cannot be made, such as on another disk
   */
  link?(path: string): Promise<boolean>
}

/** Something that a snapshot leaves out, for the header of the archive and for people. */
export interface BackupOmission {
  readonly what: string
  readonly why: string
}

/** A consistent state of one part, as it was at the moment of the backup. */
export interface BackupSnapshot {
  /** The entries of the state at the moment, each path once, always in the same order. Later changes do not change them. */
  entries(): AsyncIterable<BackupEntry>
  /** Tells everything that it leaves out. It is called once changes go on again, before the entries are read: an archive begins with it. */
  omitted(): Promise<readonly BackupOmission[]>
  /**
   * The paths of files that another program changed in place after the moment. They are in the archive as they were read, which
   * may be neither their state at the moment nor any other state that existed. Complete when all entries have been read.
   */
  readonly changed: readonly string[]
  /**
   * For the files of users on storages: the first names of the entries' paths, each with the folder of plain files from which the
   * entries come (see `plainFolder` of a storage), or `null` if the storage has none. Such a folder has one folder for each user,
   * named by the uuid, and may have the folder `kept`, with one for each user. A restore replaces these by renames, the folder `kept` as a
   * whole if the backup has it, and leaves everything else in the folder.
   */
  readonly folders?: Readonly<Record<string, string | null>>
  /**
   * For the files of users on storages: the paths at which each user sees their files, each with the first name of the entries'
   * paths: `{ "/": "local", "/archive": "cold" }`. A path hides what a shorter one has there. Storages that the snapshot leaves
   * out are among them.
   */
  readonly mounts?: Readonly<Record<string, string>>
  /** Releases the resources of the snapshot. It is always called, also after a failure. */
  release(): Promise<void>
}

/** The wishes of the owner for a backup. */
export interface BackupOptions {
  /**
   * Parts that backups leave out by default, and this one is to have (`backup.include`), such as `trash`. A participant ignores those that
   * it does not know.
   */
  readonly include: readonly string[]
}

/**
 * A part of the node with state that backups contain. Its name in the registry is its folder in the archive.
 *
 * All participants first do their long work, side by side. When all are prepared, the first one brings its changes to a halt, then
 * the second one, and so on; each fixes its state, and all go on. So all stand still at one moment, and none longer than needed.
 *
 * A participant has no method to restore. The node puts the files of an archive in their places before a plugin runs; a
 * plugin that must act on it finds `restored` in its context. The entries of a participant are then at
 * `plugins/<participant>/restored/<path>` of the data folder, so a plugin names its participant like itself. The plugin moves
 * them to where it wants them, and deletes the folder. It may also find {@link restoredEntriesFile} in its folder.
 */
export interface BackupParticipant {
  /**
   * Does everything that can happen before the moment, such as listing files, while changes go on: see {@link PreparedSnapshot}. A prepared participant may wait for slower ones, so it keeps up with the changes meanwhile.
   *
   * @param signal aborted when the participant takes too long, or when the backup is canceled, until the snapshot is taken
   * @param options without them, nothing is included that is left out by default
   */
  prepare(signal: AbortSignal, options?: BackupOptions): Promise<PreparedSnapshot<BackupSnapshot>>
}

/** The parts of the node that a backup contains. */
export const BackupParticipants = defineRegistry<BackupParticipant>('backup-participants', 2, (participant) =>
  lackingMethod(participant, 'prepare'),
)

/**
 * The name of a file that a restore leaves in the data folder of the plugin that is named like a participant:
 * `plugins/<participant>/restored-entries.jsonl`. It lists the files with `created` that the restore put in place. Each line is
 * a {@link RestoredEntry} as JSON. A disk cannot be told when a file was created, so the plugin has to remember that itself.
 * The plugin deletes the file when it has read it.
 */
export const restoredEntriesFile = 'restored-entries.jsonl'

/** A line of {@link restoredEntriesFile}. */
export interface RestoredEntry {
  /** The path of the {@link BackupEntry}. */
  readonly path: string
  readonly size: number
  /** ISO 8601, as the restored file has it. */
  readonly modified: string
  /** ISO 8601. */
  readonly created: string
}

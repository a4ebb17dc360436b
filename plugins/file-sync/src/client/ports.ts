import type { ClientMessage, ServerMessage } from '../protocol/messages.ts'

/**
 * The world around the engine. The command connects it to a node, a disk and the clock of the machine. The tests connect it to a
 * model. All methods throw `SyncFailure`; any other error is a fault of the program.
 */

/** A file or folder on the node. Dates are milliseconds since 1970. */
export type RemoteEntry =
  | { readonly type: 'directory' }
  | {
      readonly type: 'file'
      /** Bytes. */
      readonly size: number
      readonly modified: number
      readonly revision: string
    }

/** A file on the node. */
export type RemoteFileEntry = RemoteEntry & { readonly type: 'file' }

/** A file, a folder, or something else on the disk, such as a symbolic link. */
export type LocalEntry = LocalFileEntry | { readonly type: 'directory' } | LocalOther

/** A file on the disk. */
export interface LocalFileEntry {
  readonly type: 'file'
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
  /** Two equal identities mean that nobody has written to the file. */
  readonly identity: string
  /** The part of the identity that a move within the disk keeps. Empty if that cannot be told. */
  readonly moveIdentity: string
}

/** Something on the disk that is not synced. It is left alone, with everything below it. */
interface LocalOther {
  readonly type: 'other'
  /** A sentence about the cause. */
  readonly reason: string
}

/** An answer of the client to messages of the node. */
export type Answer = ClientMessage & { readonly type: 'ack' | 'listed' }

/** The node. */
export interface Remote {
  /**
   * Stays connected to the changes of the node. Resolves when the connection is closed, also because the signal aborts.
   *
   * @param onMessage `say` sends the node a message. After the `ack` of changes, it sends the next ones.
   */
  follow(
    hello: Omit<ClientMessage & { readonly type: 'hello' }, 'type' | 'protocol' | 'name'>,
    onMessage: (message: ServerMessage, say: (answer: Answer) => void) => void,
    signal: AbortSignal,
  ): Promise<void>
  /**
   * Resolves when the node has answered a ping on the connection of `follow`. All answers until then are of the same life of the
   * node: if it was restored meanwhile, the connection is gone.
   */
  confirm(): Promise<void>
  /** `null` if nothing is there. */
  stat(path: string): Promise<RemoteEntry | null>
  /** Lists a folder, by name. `null` if the path is not a folder. */
  list(folder: string): Promise<ReadonlyMap<string, RemoteEntry> | null>
  /** Bytes of the largest file that the node takes. */
  largestFile(): Promise<number>
  /**
   * The SHA-256 of a file in hexadecimal, `null` if it has another revision by now.
   *
   * @param isFresh whether the node reads the file again, although it knows the hash
   */
  hash(path: string, revision: string, isFresh?: boolean): Promise<string | null>
  /**
   * Reads a file with this revision.
   *
   * @param former another version of the file, whose parts need not be sent
   */
  read(path: string, file: RemoteFileEntry, former: LocalContent | null): AsyncIterable<Uint8Array>
  /**
   * Stores a file, and makes missing folders above it. The file on the node must have the revision; for `null`, nothing may be
   * there.
   */
  write(path: string, content: LocalContent, revision: string | null): Promise<RemoteFileEntry>
  makeFolder(path: string): Promise<void>
  /** Removes a file with this revision, or an empty folder for `null`. Nothing being there is no error. */
  remove(path: string, revision: string | null): Promise<void>
  /** Moves a file with this revision to a path where nothing is. Returns its revision there, which some storages change. */
  move(source: string, destination: string, revision: string): Promise<string>
  /** Lets all requests that wait for the node fail with `unavailable`, and those that follow. */
  stop(): void
}

/** A file of the disk that is open for reading. */
export interface LocalContent {
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
  readonly sha256: string
  /**
   * Reads all bytes, or those from `start` up to but not including `end`. Fails with `changed`, before the last bytes, if the
   * file is not the same any more.
   */
  read(start?: number, end?: number): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Content that is stored durably on the disk, but has no place in the synced folder yet. */
export interface Incoming {
  readonly sha256: string
  readonly size: number
  discard(): Promise<void>
}

/** The synced folder. Each method fails with `stop` if the folder is not the one that was opened, as when a disk is unmounted. */
export interface Disk {
  /** Two names with the same key are one name for this disk. */
  nameKey(name: string): string
  /** Why the disk cannot have a name; `null` if it can. */
  unfitName(name: string): string | null
  /** `null` if nothing is there. */
  stat(path: string): Promise<LocalEntry | null>
  /** Lists a folder, by name. `null` if the path is not a folder. */
  list(folder: string): Promise<ReadonlyMap<string, LocalEntry> | null>
  /** Calls the listener with paths that may have changed; `/` stands for everything. */
  watch(listener: (paths: readonly string[]) => void, signal: AbortSignal): Promise<void>
  /** Opens a file with this identity. */
  read(path: string, file: LocalFileEntry): Promise<LocalContent>
  /** Stores the content of a file durably. It fails as soon as the disk would be full. */
  receive(
    content: AsyncIterable<Uint8Array>,
    file: Pick<RemoteFileEntry, 'size' | 'modified'>,
  ): Promise<Incoming>
  /**
   * Gives content its place, durably, and makes missing folders above it. The file there must have the identity; for `null`,
   * nothing may be there.
   *
   * @returns its entry; `null` if another program has changed or removed it already
   */
  place(incoming: Incoming, path: string, expected: LocalFileEntry | null): Promise<LocalFileEntry | null>
  makeFolder(path: string): Promise<void>
  /** Moves a file with this identity to the trash. */
  trash(path: string, file: LocalFileEntry): Promise<void>
  /** Removes an empty folder. */
  removeFolder(path: string): Promise<void>
  /**
   * Moves a file with this identity, or a folder for `null`, to a path where nothing is, and makes missing folders above it.
   *
   * @returns the moved entry
   */
  move(path: string, destination: string, file: LocalFileEntry | null): Promise<LocalEntry>
}

/** The time. */
export interface Clock {
  /** Milliseconds since 1970, to tell a person. People and programs set this clock, so nothing is decided by it. */
  now(): number
  /** Milliseconds of a clock that only ever goes on. */
  elapsed(): number
  /** Resolves after some milliseconds, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Returns a number that is at least 0 and less than 1. */
export type Random = () => number

/** The rights of guests: read, upload without seeing anything, or both. */
export type ShareKind = 'read' | 'drop' | 'both'

/** The choices of a maker. */
export interface ShareTerms {
  readonly kind: ShareKind
  readonly expires: Date
  /** Whether pictures go out with places and camera data. */
  readonly keepMetadata: boolean
  /** Whether guests who upload are asked for their name. */
  readonly askSender: boolean
  /** Bytes that guests may upload; null if they may not upload. */
  readonly maxBytes: number | null
  /** Files that guests may upload; null if they may not upload. */
  readonly maxFiles: number | null
}

/** A link to a file or folder of a user. */
export interface Share extends ShareTerms {
  readonly id: string
  readonly userUuid: string
  /** The id of the entry in the index; null after a restore, until the entry at `path` has been found again. */
  readonly entry: string | null
  /** Where the entry was when it was seen last. */
  readonly path: string
  readonly type: 'file' | 'directory'
  readonly created: Date
  /** Whether the entry was gone since the link was opened: then it is closed, also if the entry comes back. */
  readonly isClosed: boolean
  /** The hash of the password; null if there is none. */
  readonly password: PasswordHash | null
  readonly droppedFiles: number
  readonly droppedBytes: number
}

/** A password as it is stored. */
export interface PasswordHash {
  readonly salt: Uint8Array
  readonly hash: Uint8Array
}

/** Whether guests may read. */
export function isReadable({ kind }: Pick<Share, 'kind'>): boolean {
  return kind !== 'drop'
}

/** Whether guests may upload. */
export function takesDrops({ kind }: Pick<Share, 'kind'>): boolean {
  return kind !== 'read'
}

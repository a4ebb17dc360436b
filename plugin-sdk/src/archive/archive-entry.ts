/** A file or a folder of an archive. */
export interface ArchiveEntry {
  /** Relative and `/`-separated, without `.`, `..` and empty names; each path of an archive is there once. */
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes of the content, 0 for a folder. */
  readonly size: number
  readonly modified: Date
  /** Whether the owner may run it as a program. */
  readonly executable: boolean
}

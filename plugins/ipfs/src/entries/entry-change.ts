/** A change of the tree of the backend. Paths are those of a storage backend. Times are milliseconds since 1970. */
export type EntryChange =
  /** Puts a file in the place of the file that is at the path, or of nothing, with missing parents. */
  | {
      readonly kind: 'file'
      readonly path: string
      /** The bytes of the CID of its content. */
      readonly root: Uint8Array
      readonly size: number
      readonly modified: number
      readonly created: number
      readonly revision: string
    }
  /** Makes a folder, unless it is there, with missing parents. */
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'remove'; readonly path: string }
  /** Replaces what is at the destination. Neither path is within the other one. */
  | { readonly kind: 'move'; readonly source: string; readonly destination: string }

/** A change of the tree of the backend. Paths are those of a storage backend. */
export type EntryChange =
  /** Puts a file in the place of what is at the path, with missing parents. */
  | {
      readonly kind: 'file'
      readonly path: string
      /** The bytes of the CID of its content. */
      readonly root: Uint8Array
      readonly size: number
      /** Milliseconds since 1970. */
      readonly modified: number
      readonly revision: string
    }
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'move'; readonly source: string; readonly destination: string }

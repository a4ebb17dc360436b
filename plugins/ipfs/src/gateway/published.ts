/** Tells which blocks are public. */
export interface Published {
  /** Whether a publication has the block, as its root or below it. */
  isPublished(cid: Uint8Array): boolean
}

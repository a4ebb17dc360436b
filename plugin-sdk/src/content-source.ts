/** A content to decode. It is read once, and only when its turn has come. */
export interface ContentSource {
  /** Bytes of the whole content: exactly as many as `bytes` yields. */
  readonly size: number
  /** A `ContentSandbox` has passed a chunk on before it requests the one after the next: see `reuseBuffers` of `StorageReadOptions`. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** A content to decode. It is read once, and only when its turn has come. */
export interface ContentSource {
  /** Bytes of the whole content: exactly as many as `bytes` yields. */
  readonly size: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/**
 * The reason for which a picture cannot be cleaned: the node knows no way for its format, it is damaged or not whole, it is too large, or it
 * is a file that has nothing but such data.
 */
export type RefusalReason = 'format' | 'broken' | 'large' | 'sidecar'

/** Ends the reading of a picture that cannot be cleaned. */
export class RefusedPicture extends Error {
  override readonly name = 'RefusedPicture'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super(`A picture cannot be cleaned: ${reason}`)
    this.reason = reason
  }
}

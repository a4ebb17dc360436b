import { type Static, Type } from '@nodekeep/plugin-sdk'

/** The reason for which a picture cannot be cleaned. */
export const refusalReason = Type.Union(
  [Type.Literal('format'), Type.Literal('broken'), Type.Literal('large'), Type.Literal('sidecar')],
  {
    description:
      'Why it is not sent: the node cannot clean its format, it is damaged or not whole, it is too large, or it has nothing but such data.',
  },
)

export type RefusalReason = Static<typeof refusalReason>

/** Ends the reading of a picture that cannot be cleaned. */
export class RefusedPicture extends Error {
  override readonly name = 'RefusedPicture'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super(`A picture cannot be cleaned: ${reason}`)
    this.reason = reason
  }
}

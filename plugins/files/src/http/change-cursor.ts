import { type ChangePosition, NodekeepError } from '@nodekeep/plugin-sdk'

/** The position as clients get it. They cannot rely on its form. */
export function cursorOf({ epoch, seq, id }: ChangePosition): string {
  return Buffer.from(`${epoch} ${seq} ${id}`, 'latin1').toString('base64url')
}

/**
 * The position of a cursor. A former release left out the id of the change, so its cursors are none of this history.
 *
 * @throws NodekeepError VALIDATION_ERROR for a text that {@link cursorOf} cannot have made
 */
export function positionOf(cursor: string): ChangePosition {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const match = /^([\x21-\x7e]+) (\d{1,15})(?: ([\da-f]{0,40}))?$/.exec(text)
  const isCanonical = Buffer.from(text, 'latin1').toString('base64url') === cursor
  if (match !== null && isCanonical)
    return { epoch: match[1] ?? '', seq: Number(match[2]), id: match[3] ?? '' }
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'The cursor is not one that this node gave. Begin without a cursor.',
  )
}

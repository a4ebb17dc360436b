import { NodekeepError } from '@nodekeep/plugin-sdk'

/** A position in the change log. Its numbers are valid in its epoch only. */
export interface ChangePosition {
  readonly epoch: string
  readonly seq: number
}

/** The position as clients get it. They cannot rely on its form. */
export function cursorOf({ epoch, seq }: ChangePosition): string {
  return Buffer.from(`${epoch} ${seq}`, 'latin1').toString('base64url')
}

/** @throws NodekeepError VALIDATION_ERROR for a text that {@link cursorOf} cannot have made */
export function positionOf(cursor: string): ChangePosition {
  const match = /^([\x21-\x7e]+) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  const position = { epoch: match?.[1] ?? '', seq: Number(match?.[2]) }
  if (match !== null && cursorOf(position) === cursor) return position
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'The cursor is not one that this node gave. Begin without a cursor.',
  )
}

import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'

/** The bounds of the uploads of guests that are left. */
export interface DropLimits {
  readonly filesLeft: number
  readonly bytesLeft: number
  /** Bytes of the largest file. */
  readonly maxFileSize: number
}

/** Files and bytes from which on guests are told how much is left. */
const fewFiles = 50
const fewBytes = 5e9

/** Tells how large a file may be, and how much is left if that is little. The script of the form tells it after each upload. */
export function limitsText({ filesLeft, bytesLeft, maxFileSize }: DropLimits): string {
  if (filesLeft <= 0 || bytesLeft <= 0) return 'This link takes no more files.'
  const left = [
    ...(filesLeft <= fewFiles ? [filesLeft === 1 ? '1 more file' : `${filesLeft} more files`] : []),
    ...(bytesLeft <= fewBytes ? [`${bytesText(bytesLeft)} in all`] : []),
  ]
  const largest = `A file has at most ${bytesText(Math.min(bytesLeft, maxFileSize))}.`
  return left.length === 0 ? largest : `This link takes ${left.join(' and ')}. ${largest}`
}

import type { ContentFailure } from '@nodekeep/plugin-sdk/sandbox-process'
import { type RefusalReason, refusals } from './protocol/orders.ts'

/** Why a content has no preview. It is stored, so a name stays. */
export type Failure = RefusalReason | 'time' | 'memory' | 'crash'

const sentences: Readonly<Record<Failure, string>> = {
  broken: 'The file is damaged, or not whole.',
  'no-cover': 'The file has no cover picture.',
  pixels: 'The picture has too many pixels (previews.maxPixels).',
  unknown: 'No decoder of this node knows its format.',
  time: 'To decode the file took too long.',
  memory: 'To decode the file took too much memory.',
  crash: 'The decoder failed at the file.',
}

/** The end of the sentence that begins with "There is no preview of this file". */
export function sentenceOf(failure: Failure): string {
  return sentences[failure]
}

/** The reason of a failure of the sandbox. Its messages come from a process that may be in hostile hands, so only known words count. */
export function failureOf({ reason, message }: ContentFailure): Failure {
  if (reason === 'time' || reason === 'memory') return reason
  if (reason === 'ended') return 'crash'
  return refusals.find((known) => known === message) ?? 'broken'
}

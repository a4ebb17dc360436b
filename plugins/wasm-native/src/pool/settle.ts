import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { FrameReader } from '../protocol/frame-reader.ts'
import { Answer, failureCodes } from '../protocol/messages.ts'
import { readValues } from '../protocol/values.ts'
import type { Run } from './run.ts'

/** Ends a run with its answer, whose time was read already. */
export function settle(run: Run, answer: FrameReader): void {
  if (run.settled) return
  if (answer.kind === Answer.done) run.resolve(readValues(answer))
  else if (answer.kind === Answer.listed) run.resolve(JSON.parse(answer.text()))
  else run.reject(failureOf(answer))
}

function failureOf(answer: FrameReader): NodekeepError {
  const code = failureCodes[answer.uint8()]
  if (code === undefined) throw new RangeError('A failure has no code.')
  return new NodekeepError(code, answer.text())
}

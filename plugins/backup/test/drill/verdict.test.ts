import { test } from 'tap'
import { sentenceOf } from '../../src/drill/verdict.ts'

test('the verdict is said in one sentence', async (t) => {
  const at = new Date(2026, 10, 23, 3, 10)
  const verdict = { filename: 'b', at: at.toISOString(), problem: null } as const
  t.equal(
    sentenceOf({ ...verdict, result: 'passed', seconds: 252 }, new Date(2026, 10, 23, 9)),
    'You could be back in 4 min 12 s, tried today at 03:10.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'passed', seconds: 7 }, new Date(2026, 10, 24, 9)),
    'You could be back in 7 s, tried on 2026-11-23 at 03:10.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'verified', seconds: null }, at),
    'Every byte of the backup is as it was written, and a node started on it with a sample of the files, tried today at 03:10.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'verified', problem: 'The disk is full.', seconds: null }, at),
    'Every byte of the backup is as it was written, tried today at 03:10. No node was started on it: The disk is full.',
  )
  t.equal(
    sentenceOf({ ...verdict, result: 'failed', problem: 'the user ada is missing', seconds: null }, at),
    'Do not rely on the last backup, tried today at 03:10: the user ada is missing',
  )
})

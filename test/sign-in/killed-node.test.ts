import { test } from 'tap'
import { runFaults } from '../faults/run-faults.ts'
import signIn from '../faults/sign-in.faults.ts'

test('a node that is killed during sign-ins keeps its answered changes', async (t) => {
  const printed: string[] = []
  const print = (line: string) => printed.push(line)
  const counts = await runFaults(new Map([['sign-in', signIn]]), { seed: 1, rounds: 2, minutes: 5, print })
  t.strictSame(counts, { passed: 2, failed: 0, skipped: 0 }, printed.join('\n'))
})

import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
import { startDavNode } from './fixtures/dav-node.ts'
import { runProgram } from './fixtures/run-program.ts'

const suites = ['basic', 'copymove', 'props', 'locks', 'http']

t.test('litmus finds nothing that is not as RFC 4918 says', { skip: needsPrograms('litmus') }, async (t) => {
  const { address, username, password } = await startDavNode(t)
  const { output } = await runProgram('litmus', ['-k', address, username, password], {
    cwd: t.testdir({}),
    env: { TESTS: suites.join(' ') },
  })
  // A line of progress is written over by the next one.
  const lines = output.split(/[\r\n]+/)
  const summaries = lines.filter((line) => line.includes('summary for'))
  t.strictSame(
    summaries.map((line) => /summary for `(\w+)'.* 0 failed\./.exec(line)?.[1]),
    suites,
    output,
  )
  t.strictSame(
    lines.filter((line) => /FAIL|SKIPPED|WARNING/.test(line)),
    [],
    'no test fails, is skipped or warns',
  )
})

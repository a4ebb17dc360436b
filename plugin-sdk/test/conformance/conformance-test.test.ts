import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { Parser, type Result } from 'tap-parser'
import { checksOf } from '../../src/conformance/conformance-test.ts'

const program = fileURLToPath(new URL('./fixtures/skipping-suite.ts', import.meta.url))

/** Runs a suite of two tests with a test runner. Returns its assertions, without those that only end a block. */
async function assertionsWith(runner: string): Promise<Result[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=nodekeep-source', '--test-reporter=tap', program, runner],
    { env: { PATH: process.env.PATH } },
  )
  return Parser.parse(stdout, { flat: true }).flatMap((event) => (event[0] === 'assert' ? [event[1]] : []))
}

for (const runner of ['node:test', 'tap']) {
  test(`A skipped test is reported by name and with its reason by ${runner}`, async (t) => {
    const [swims, flies, ...others] = await assertionsWith(runner)
    t.match(swims, { ok: true, fullname: /the subject can swim/, skip: false })
    t.match(flies, { ok: true, fullname: /the subject can fly/, skip: /./ })
    t.match(JSON.stringify(flies), /The subject does not fly\./)
    t.strictSame(others, [])
  })
}

test('A test that cannot be skipped fails, and its subject is closed', async (t) => {
  const runs: ((context: never) => Promise<void>)[] = []
  let closed = 0
  const check = checksOf(
    (_name, run) => runs.push(run),
    async () => 'subject',
    async () => {
      closed += 1
    },
  )
  check('unable', async (_subject, skip) => skip('The subject does not fly.'))
  for (const context of [undefined, {}, { skip: true }]) {
    const running = Promise.all(runs.map((run) => run(context as never)))
    await t.rejects(running, { message: /^The subject does not fly\. .*"skip"/ })
  }
  t.equal(closed, 3)
})

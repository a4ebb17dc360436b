import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type Test, test } from 'tap'
import { root } from './command.ts'

/** Runs `.ci/run` with an npm whose commands do what is given. Returns the lines of its output, and its code. */
async function runWith(t: Test, commands: Readonly<Record<'ci' | 'test:all', string>>) {
  const folder = t.testdir()
  await mkdir(join(folder, '.ci'))
  await copyFile(join(root, '.ci/run'), join(folder, '.ci/run'))
  const cases = Object.entries(commands).map(([name, command]) => `*' ${name} '*) ${command};;`)
  const programs = {
    npm: `case " $* " in ${cases.join('\n')} esac`,
    '.ci/install-programs': 'echo installed',
  }
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, name), 0o755)
  }
  const PATH = [folder, process.env.PATH].join(delimiter)
  return new Promise<{ code: unknown; lines: string[] }>((resolve) => {
    execFile(join(folder, '.ci/run'), { env: { PATH } }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') }),
    )
  })
}

const counts = (passed: number, failed: number) =>
  `echo '${passed} passed, ${failed} failed'; exit ${failed > 0 ? 1 : 0}`

test('the last line counts the tests, whatever fails', async (t) => {
  for (const [what, commands, last] of [
    ['all is well', { ci: 'true', 'test:all': counts(15, 0) }, '15 passed, 0 failed'],
    ['a test fails', { ci: 'true', 'test:all': counts(15, 3) }, '15 passed, 3 failed'],
    ['the tests end early', { ci: 'true', 'test:all': 'kill -9 $$' }, '0 passed, 1 failed'],
    ['npm cannot install', { ci: 'exit 1', 'test:all': counts(1, 0) }, '0 passed, 1 failed'],
  ] as const) {
    const { code, lines } = await runWith(t, commands)
    t.equal(lines.at(-1), last, what)
    t.equal(code, last.endsWith(' 0 failed') ? 0 : 1, what)
  }
})

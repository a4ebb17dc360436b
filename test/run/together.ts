/**
 * Runs test files in this process, one after the other: `node together.ts NAME`. The files, as paths from the root, are
 * in the variable that `test-group.ts` names. What they are called together, tap puts into the names of folders.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { root } from './command.ts'
import { endOf, filesVariable } from './test-group.ts'

const files: string[] = JSON.parse(process.env[filesVariable] ?? '[]')
// Nothing that the tests start is to see it.
delete process.env[filesVariable]
// A process with nothing to wait for would end the tests, such as while a file waits for what holds no process up.
const alive = setInterval(() => {}, 60_000)
for (const file of files) {
  try {
    await import(pathToFileURL(join(root, file)).href)
  } catch (error) {
    t.error(error, `${file} cannot be loaded`)
  }
  // Its tests come before this one, which so ends when they have.
  await t.test(endOf(file), async (t) => {
    t.pass()
  })
}
clearInterval(alive)

/**
 * Runs test files in this process, one after the other: `node run-group.ts NAME`. The variable that `test-group.ts` names
 * has the paths of the files from the root. tap uses NAME in the names of its folders.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { root } from './command.ts'
import { endOf, filesVariable } from './test-group.ts'

const files: string[] = JSON.parse(process.env[filesVariable] ?? '[]')
// The processes that tests start must not see it.
delete process.env[filesVariable]
// Keeps the process alive while a test waits for something that does not, such as an unreferenced timer.
const alive = setInterval(() => {}, 60_000)
for (const file of files) {
  try {
    await import(pathToFileURL(join(root, file)).href)
  } catch (error) {
    t.error(error, `${file} cannot be loaded`)
  }
  // tap runs tests in order, so this one runs when the tests of the file have ended.
  await t.test(endOf(file), async (t) => {
    t.pass()
  })
}
clearInterval(alive)

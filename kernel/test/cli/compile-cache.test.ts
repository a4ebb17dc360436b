import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'

const program = fileURLToPath(new URL('../../bin/nodekeep.js', import.meta.url))

/** Runs `nodekeep --version` with umask 0, so that only the command itself restricts modes. */
async function version(env: NodeJS.ProcessEnv, cwd: string): Promise<string> {
  const command = 'umask 000; exec "$0" --conditions=nodekeep-source "$1" --version'
  const ran = promisify(execFile)('/bin/sh', ['-c', command, process.execPath, program], { env, cwd })
  return (await ran).stdout
}

test('the command caches compiled code in a private folder', async (t) => {
  const home = t.testdir()
  await version({ HOME: home }, home)
  const folder = join(home, '.cache/nodekeep')
  for (const made of [join(home, '.cache'), folder]) t.equal(statSync(made).mode & 0o777, 0o700, made)

  chmodSync(folder, 0o777)
  await version({ HOME: home }, home)
  t.equal(statSync(folder).mode & 0o777, 0o700, 'the command restricts the mode of an open folder')
})

test('the command works without a folder for the cache', async (t) => {
  const home = t.testdir({ file: '' })
  mkdirSync(join(home, 'here'))
  t.match(await version({ HOME: join(home, 'file') }, home), /^\d+\.\d+/)
  await version({ HOME: join(home, 'here'), XDG_CACHE_HOME: 'relative' }, home)
  t.notOk(existsSync(join(home, 'relative')), 'a relative path is ignored (XDG Base Directory Specification)')
})

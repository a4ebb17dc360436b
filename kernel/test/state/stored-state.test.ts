import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'

const module = new URL('../../src/state/stored-state.ts', import.meta.url).href

/** Calls `holdsState` in a process without the right of root to read everything. Returns its result or its error. */
async function ask(folder: string): Promise<string> {
  const program = `
    import { holdsState } from ${JSON.stringify(module)}
    // The user that is usually called "nobody".
    if (process.getuid() === 0) process.setuid(65534)
    try { console.log(holdsState(${JSON.stringify(folder)})) } catch (error) { console.log(error.message) }`
  const options = ['--conditions=nodekeep-source', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, options, { env: {} })
  return stdout.trim()
}

test('data that this user may not read is not reported as absent', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-stored-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const data = join(folder, 'data')
  const state = join(data, 'state.sqlite')
  t.equal(await ask(data), 'false', 'there is no folder')
  await mkdir(data)
  t.equal(await ask(data), 'false', 'the folder is empty')
  await writeFile(state, '')
  t.equal(await ask(data), 'true')
  await writeFile(join(folder, 'file'), '')
  t.equal(await ask(join(folder, 'file')), 'false', 'a file is in the place of the folder')

  const refusal = `This user may not read the data in ${data} (EACCES). Run the command as the user who runs the node.`
  await chmod(state, 0o000)
  t.equal(await ask(data), refusal, 'the database may not be read')
  await chmod(state, 0o644)
  await chmod(data, 0o000)
  t.equal(await ask(data), refusal, 'the folder may not be entered')
  await chmod(data, 0o755)
})

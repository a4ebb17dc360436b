import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'

const run = promisify(execFile)
const script = new URL('./fixtures/full-disk-writer.ts', import.meta.url).pathname
const mount = 'mount -t tmpfs -o size=600k tmpfs "$1"'

/** Runs shell commands where a disk may be mounted that nobody else sees. */
function apart(commands: string, ...args: string[]) {
  return run('unshare', ['--map-root-user', '--mount', 'sh', '-c', commands, 'sh', ...args])
}

test('on a full disk beginning is refused, and no end of a change is lost', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-full-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const possible = await apart(mount, folder).then(
    () => true,
    () => false,
  )
  if (!possible) {
    t.comment('Nothing can be mounted here, so that no disk can be filled.')
    return
  }
  const { stdout } = await apart(
    `${mount} && exec "$2" --conditions=nodekeep-source "$3" "$1"`,
    folder,
    process.execPath,
    script,
  )
  const { code, begun, pendingWhileFull, readable } = JSON.parse(stdout)
  t.equal(code, 'INSUFFICIENT_STORAGE')
  t.ok(
    begun > 0 && pendingWhileFull > 0,
    `${begun} begun, ${pendingWhileFull} of them pending on the full disk`,
  )
  t.equal(readable, begun, 'as soon as there is room, what was committed can be read')
})

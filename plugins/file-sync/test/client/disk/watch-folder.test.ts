// In a process of its own: the limit of watches holds for processes apart.
import { execFile } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
import { watchFolder } from '../../../src/client/disk/watch-folder.ts'
import { temporaryFolder } from '../fixtures/synced-folders.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('./fixtures/few-watches.ts', import.meta.url))
const limit = '/proc/sys/user/max_inotify_watches'

t.test(
  'without watches, everything is looked at again and again',
  { skip: needsPrograms('unshare') },
  async (t) => {
    const folder = await temporaryFolder(t)
    const apart = (...command: string[]) => run('unshare', ['--map-root-user', ...command])
    const isPossible = await apart('sh', '-c', `echo 5 > ${limit}`).then(
      () => true,
      () => false,
    )
    if (!isPossible) return void t.pass('few watches', { skip: 'The limit of watches cannot be set here.' })
    const { stdout } = await apart(process.execPath, '--conditions=nodekeep-source', program, folder)
    t.match(JSON.parse(stdout), { told: [/no watches left \(ENOSPC\).*every minute/] })
  },
)

t.test('a folder that takes the path of another one at once is watched', async (t) => {
  const root = await temporaryFolder(t)
  const at = (path: string) => join(root, path)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const seen = new Set<string>()
  const { signal } = ending
  const onChange = (paths: readonly string[]) => {
    for (const path of paths) seen.add(path)
  }
  mkdirSync(at('photos/old'), { recursive: true })
  await watchFolder({ root, own: at('own'), onChange, onTrouble: t.fail, signal })
  // Nobody can look at the folder between these three.
  renameSync(at('photos'), at('other'))
  mkdirSync(at('photos'))
  renameSync(at('other'), at('photos/2025'))
  const shows = async (path: string, write: () => void) => {
    seen.clear()
    // The watch may not have begun yet.
    while (!seen.has(path)) {
      write()
      await delay(100)
    }
    t.pass(path)
  }
  await shows('photos/new', () => writeFileSync(at('photos/new'), 'new'))
  await shows('photos/2025/new', () => writeFileSync(at('photos/2025/new'), 'new'))
  await shows('photos/2025/old/new', () => writeFileSync(at('photos/2025/old/new'), 'new'))
})

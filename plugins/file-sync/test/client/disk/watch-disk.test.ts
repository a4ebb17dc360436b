// In a process of its own: the limit of watches holds for processes apart.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
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

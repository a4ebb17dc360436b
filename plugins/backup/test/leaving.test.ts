import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { generateKey } from '../src/archive/recovery-key.ts'
import { createBackupNode, makeBackup, put } from './fixtures/backup-node.ts'

/** The commands of the page, without comments. */
function commandsOfPage(): string[] {
  const page = readFileSync(new URL('../LEAVING.md', import.meta.url), 'utf8')
  const [, block = ''] = /^```sh\n(.*?)^```/ms.exec(page) ?? []
  return block.trimEnd().split('\n')
}

async function checkLeaving(t: Test, key: { recipient: string; identity: string } | null): Promise<void> {
  const node = await createBackupNode({ config: { backup: { recipients: key ? [key.recipient] : [] } } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  await put(owner, '/notes/hello.txt', 'hello')
  const { filename } = await makeBackup(owner)
  const folder = t.testdir()
  copyFileSync(join(node.dataFolder, 'backups', filename), join(folder, filename))
  if (key) writeFileSync(join(folder, 'recovery.key'), key.identity)

  const commands = commandsOfPage().filter((line) => key || !line.includes('only if it is encrypted'))
  t.ok(commands.length >= 2 && commandsOfPage().length <= 5)
  for (const command of commands) execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' })
  const file = join('files/local', owner.user.uuid, 'notes/hello.txt')
  t.equal(readFileSync(join(folder, file), 'utf8'), 'hello')

  writeFileSync(join(folder, file), 'other')
  t.throws(() => execFileSync('sh', ['-c', commands.at(-1) ?? ''], { cwd: folder, stdio: 'pipe' }))
}

const programs = needsPrograms('tar', 'sha256sum')

test('the commands of the page open a plain backup', { skip: programs }, async (t) => checkLeaving(t, null))

test(
  'the commands of the page open an encrypted backup',
  {
    skip: programs || needsPrograms('age'),
  },
  async (t) => checkLeaving(t, await generateKey()),
)

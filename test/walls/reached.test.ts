import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { house } from './fixtures/house.ts'
import { changedFiles, reachedFiles } from './reached.ts'

function git(root: string, ...args: readonly string[]): void {
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']
  execFileSync('git', [...identity, ...args], { cwd: root, stdio: 'ignore' })
}

/** A repository in which everything is committed on `main`. */
function committed(t: Test): string {
  const root = house(t, {
    'plugins/notes/src/index.ts': "import '@nodekeep/plugin-sdk'\nimport './notes.ts'\n",
    'plugins/notes/src/notes.ts': "new Worker(new URL('./work-thread.ts', import.meta.url))\n",
    'plugins/notes/src/work-thread.ts': '',
    'plugins/notes/test/notes.test.ts': "import '../src/notes.ts'\n",
    'test/alone.test.ts': "// It has nothing to do with '@nodekeep/kernel'.\n",
    'test/node.test.ts': 'start({ plugins: { notes: true } })\n',
    'test/process.test.ts': "startServer(join(import.meta.dirname, 'fixtures/server.ts'))\n",
    'test/fixtures/server.ts': "import '@nodekeep/plugin-sdk'\n",
    'test/preset.test.ts': "start('default.json')\n",
    'test/configs.test.ts': "glob('config/*.json')\n",
    'test/pack.test.ts': 'pack(workspaces())\n',
    'test/whole.test.ts': "import '@nodekeep/kernel'\n",
  })
  git(root, 'init', '--initial-branch=main')
  git(root, 'add', '.')
  git(root, 'commit', '-m', 'Begin')
  return root
}

async function reachedTests(root: string, ...changed: readonly string[]): Promise<string[]> {
  return [...(await reachedFiles(changed, root))].filter((file) => file.endsWith('.test.ts')).sort()
}

test('a change reaches the tests that import, start or configure the changed code', async (t) => {
  const root = committed(t)
  const whole = ['test/configs.test.ts', 'test/node.test.ts', 'test/pack.test.ts', 'test/preset.test.ts']
  t.strictSame(await reachedTests(root, 'plugins/notes/src/work-thread.ts'), [
    'plugins/notes/test/notes.test.ts',
    ...whole,
  ])
  t.strictSame(await reachedTests(root, 'plugins/notes/package.json'), whole)
  t.strictSame(await reachedTests(root, 'kernel/src/index.ts'), ['test/pack.test.ts', 'test/whole.test.ts'])
  t.strictSame(await reachedTests(root, 'plugin-sdk/src/thing.ts'), [
    ...whole,
    'test/process.test.ts',
    'test/whole.test.ts',
  ])
  t.strictSame(await reachedTests(root, 'config/default.json'), [
    'test/configs.test.ts',
    'test/preset.test.ts',
  ])
  t.strictSame(await reachedTests(root, 'test/alone.test.ts'), ['test/alone.test.ts'])
  t.strictSame(await reachedTests(root, 'CHANGELOG.md'), [])
})

test('a change of what decides how everything runs reaches everything', async (t) => {
  const root = committed(t)
  t.equal((await reachedTests(root, 'package-lock.json')).length, 8)
})

test('a removed file reaches the tests that still name it', async (t) => {
  const root = committed(t)
  rmSync(join(root, 'test/fixtures/server.ts'))
  t.strictSame(await reachedTests(root, 'test/fixtures/server.ts'), ['test/process.test.ts'])
})

test('a change is what is committed since the base, changed since, and new', async (t) => {
  const root = committed(t)
  git(root, 'checkout', '-b', 'change')
  writeFileSync(join(root, 'README.md'), 'Committed.\n')
  git(root, 'commit', '-am', 'Change')
  writeFileSync(join(root, 'CHANGELOG.md'), 'Not committed.\n')
  writeFileSync(join(root, 'test/new.ts'), '')
  rmSync(join(root, 'test/alone.test.ts'))
  t.strictSame(await changedFiles('main', root), [
    'CHANGELOG.md',
    'README.md',
    'test/alone.test.ts',
    'test/new.ts',
  ])
  t.strictSame(await changedFiles('HEAD', root), ['CHANGELOG.md', 'test/alone.test.ts', 'test/new.ts'])
  await t.rejects(changedFiles('nowhere', root), /nowhere/)
})

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { Package } from '../walls/packages.ts'
import { changedFiles, reached } from './reached.ts'

const entry = (source: string) => ({ 'nodekeep-source': source, default: './dist/index.js' })
const pluginOf = (id: string): Package => ({
  kind: 'plugin',
  folder: `plugins/${id}`,
  manifest: { name: `@nodekeep/${id}`, version: '1.0.0', nodekeep: { id, source: './src/index.ts' } },
})
const packages: Package[] = [
  {
    kind: 'kernel',
    folder: 'kernel',
    manifest: {
      name: '@nodekeep/kernel',
      version: '1.0.0',
      exports: { './testing': entry('./src/testing/index.ts') },
      imports: { '#command-line': entry('./src/cli/program.ts') },
    },
  },
  pluginOf('files'),
  pluginOf('web'),
  { kind: 'root', folder: '', manifest: { name: 'nodekeep', version: '1.0.0' } },
]

/** The imports of each file, and the text of those that name a plugin or a document. */
const sources: Record<string, { imports?: string[]; text?: string }> = {
  'kernel/src/testing/index.ts': { imports: ['../node.ts'] },
  'kernel/src/node.ts': {},
  'kernel/src/cli/program.ts': { imports: ['./start.ts'] },
  'kernel/src/cli/start.ts': {},
  'kernel/src/alone.ts': {},
  'kernel/test/node.test.ts': { imports: ['../src/node.ts'] },
  'kernel/test/start.test.ts': { imports: ['../src/cli/start.ts'] },
  'plugins/files/src/index.ts': { imports: ['./read.ts'] },
  'plugins/files/src/read.ts': { text: "moduleBeside(import.meta.url, './work/read-thread')" },
  'plugins/files/src/work/read-thread.ts': {},
  'plugins/files/src/write.ts': { imports: ['./names.ts'] },
  'plugins/files/src/names.ts': {},
  'plugins/files/test/names.test.ts': { imports: ['../src/names.ts'] },
  'plugins/files/test/read.test.ts': { imports: ['./fixtures/files-node.ts'] },
  'plugins/files/test/fixtures/files-node.ts': {
    imports: ['@nodekeep/kernel/testing'],
    text: '{ plugins: { files: true } }',
  },
  'plugins/files/test/readme.test.ts': { text: "'../README.md'" },
  'plugins/web/src/index.ts': {},
  'plugins/web/test/pages.test.ts': { imports: ['@nodekeep/kernel/testing'], text: "{ 'web': true }" },
  'test/release/build.ts': {},
  'test/release/pack.test.ts': { imports: ['./build.ts'] },
  'test/boot/presets.test.ts': { imports: ['node:child_process'], text: "{ extends: 'nodekeep:default' }" },
  'test/boot/fixtures/broken/index.ts': {},
  'test/boot/fixtures/server.ts': { imports: ['../../../kernel/src/node.ts'] },
  'test/boot/server.test.ts': { text: "join(import.meta.dirname, 'fixtures/server.ts')" },
  'test/bench/files.bench.ts': { imports: ['./start.ts'], text: "start('files-node.ts')" },
  'test/bench/start.ts': { text: "// It may start 'files'.\ninterface Found { files: string[] }" },
  'test/bench/web.bench.ts': { imports: ['./start.ts'] },
  'test/bench/fixtures/files-node.ts': { text: '{ plugins: { files: true } }' },
  'test/boot/stop.test.ts': { imports: ['node:child_process'] },
}
const files = Object.entries(sources).map(([file, { imports = [] }]) => ({ file, imports }))
const tests = Object.keys(sources).filter((file) => file.endsWith('.test.ts'))
const textOf = (file: string) => sources[file]?.text ?? ''
const reachedTests = (...changed: string[]) =>
  [...reached(changed, tests, { packages, files, textOf }).keys()].sort()

test('code reaches the tests that import it, directly, through other files, or by the name of a package', async (t) => {
  t.strictSame(reachedTests('kernel/src/node.ts'), [
    'kernel/test/node.test.ts',
    'plugins/files/test/read.test.ts',
    'plugins/web/test/pages.test.ts',
    'test/boot/server.test.ts',
  ])
  t.strictSame(reachedTests('plugins/files/test/names.test.ts'), ['plugins/files/test/names.test.ts'])
  t.strictSame(reachedTests('plugins/files/test/fixtures/files-node.ts'), ['plugins/files/test/read.test.ts'])
})

test('the code of a plugin reaches the tests that name it, or a preset, and those of the packed packages', async (t) => {
  t.strictSame(reachedTests('plugins/files/src/read.ts'), [
    'plugins/files/test/read.test.ts',
    'test/boot/presets.test.ts',
    'test/release/pack.test.ts',
  ])
})

test('a thread and a program of a process reach what those reach that name them', async (t) => {
  const thread = reachedTests('plugins/files/src/work/read-thread.ts')
  t.strictSame(thread, reachedTests('plugins/files/src/read.ts'))
  t.strictSame(reachedTests('test/boot/fixtures/server.ts'), ['test/boot/server.test.ts'])
})

test('code reaches the benches that import it, or start a node with it', async (t) => {
  const benches = Object.keys(sources).filter((file) => file.endsWith('.bench.ts'))
  const reachedBenches = (file: string) => [...reached([file], benches, { packages, files, textOf }).keys()]
  t.strictSame(reachedBenches('plugins/files/src/read.ts'), ['test/bench/files.bench.ts'])
  t.strictSame(reachedBenches('test/bench/start.ts'), benches)
  t.strictSame(reachedBenches('package-lock.json'), benches)
})

test('the command line reaches the tests that start processes', async (t) => {
  t.strictSame(reachedTests('kernel/src/cli/start.ts'), [
    'kernel/test/start.test.ts',
    'test/boot/presets.test.ts',
    'test/boot/stop.test.ts',
  ])
})

test('all else reaches what its package reaches', async (t) => {
  const ofKernel = reachedTests('kernel/src/alone.ts')
  t.strictSame(ofKernel, [
    'kernel/test/node.test.ts',
    'kernel/test/start.test.ts',
    'plugins/files/test/read.test.ts',
    'plugins/web/test/pages.test.ts',
    'test/boot/presets.test.ts',
    'test/boot/server.test.ts',
    'test/boot/stop.test.ts',
  ])
  t.strictSame(reachedTests('kernel/package.json'), ofKernel)
  t.strictSame(reachedTests('plugins/web/bundle/page.css'), [
    'plugins/web/test/pages.test.ts',
    'test/boot/presets.test.ts',
    'test/release/pack.test.ts',
  ])
})

test('a fixture reaches the tests of its folder, a document those that read it, the rest of the root all', async (t) => {
  const ofBoot = ['test/boot/presets.test.ts', 'test/boot/server.test.ts', 'test/boot/stop.test.ts']
  t.strictSame(reachedTests('test/boot/fixtures/broken/package.json'), ofBoot)
  t.strictSame(reachedTests('test/boot/fixtures/broken/index.ts'), ofBoot)
  t.strictSame(reachedTests('plugins/files/README.md'), ['plugins/files/test/readme.test.ts'])
  t.strictSame(reachedTests('plugins/web/README.md'), [])
  t.strictSame(reachedTests('package-lock.json'), tests.toSorted())
  t.strictSame(reachedTests(), [])
})

test('each test is told the first change that reaches it', async (t) => {
  const both = reached(['kernel/src/cli/start.ts', 'package.json'], tests, { packages, files, textOf })
  t.equal(both.get('kernel/test/start.test.ts'), 'kernel/src/cli/start.ts')
  t.equal(both.get('kernel/test/node.test.ts'), 'package.json')
})

test('a change is what is committed since the base, changed since, and new', async (t) => {
  const folder = t.testdir({ 'README.md': '', 'CHANGELOG.md': '', 'removed.ts': '' })
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']
  const git = (...args: string[]) =>
    execFileSync('git', [...identity, ...args], { cwd: folder, stdio: 'ignore' })
  git('init', '--initial-branch=main')
  git('add', '.')
  git('commit', '-m', 'Begin')
  git('checkout', '-b', 'change')
  writeFileSync(join(folder, 'README.md'), 'Committed.\n')
  git('commit', '-am', 'Change')
  writeFileSync(join(folder, 'CHANGELOG.md'), 'Not committed.\n')
  writeFileSync(join(folder, 'new.ts'), '')
  rmSync(join(folder, 'removed.ts'))
  const working = ['CHANGELOG.md', 'new.ts', 'removed.ts']
  t.strictSame(await changedFiles('main', folder), ['CHANGELOG.md', 'README.md', 'new.ts', 'removed.ts'])
  t.strictSame(await changedFiles('HEAD', folder), working)
  await t.rejects(changedFiles('nowhere', folder), /nowhere/)
})

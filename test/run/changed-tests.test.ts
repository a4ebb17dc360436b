import { test } from 'tap'
import type { Package } from '../walls/packages.ts'
import { reachedTests } from './changed-tests.ts'

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
  'kernel/src/thread.ts': {},
  'kernel/test/node.test.ts': { imports: ['../src/node.ts'] },
  'kernel/test/start.test.ts': { imports: ['../src/cli/start.ts'] },
  'plugins/files/src/index.ts': { imports: ['./read.ts'] },
  'plugins/files/src/read.ts': {},
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
  'test/boot/stop.test.ts': { imports: ['node:child_process'] },
}
const files = Object.entries(sources).map(([file, { imports = [] }]) => ({ file, imports }))
const tests = Object.keys(sources).filter((file) => file.endsWith('.test.ts'))
const reached = (...changed: string[]) =>
  [
    ...reachedTests(changed, tests, { packages, files, textOf: (file) => sources[file]?.text ?? '' }).keys(),
  ].sort()

test('code reaches the tests that import it, directly, through other files, or by the name of a package', async (t) => {
  t.strictSame(reached('kernel/src/node.ts'), [
    'kernel/test/node.test.ts',
    'plugins/files/test/read.test.ts',
    'plugins/web/test/pages.test.ts',
  ])
  t.strictSame(reached('plugins/files/test/names.test.ts'), ['plugins/files/test/names.test.ts'])
  t.strictSame(reached('plugins/files/test/fixtures/files-node.ts'), ['plugins/files/test/read.test.ts'])
})

test('the code of a plugin reaches the tests that name it, or a preset, and those of the packed packages', async (t) => {
  t.strictSame(reached('plugins/files/src/read.ts'), [
    'plugins/files/test/read.test.ts',
    'test/boot/presets.test.ts',
    'test/release/pack.test.ts',
  ])
})

test('the command line reaches the tests that start processes', async (t) => {
  t.strictSame(reached('kernel/src/cli/start.ts'), [
    'kernel/test/start.test.ts',
    'test/boot/presets.test.ts',
    'test/boot/stop.test.ts',
  ])
})

test('all else reaches what its package reaches', async (t) => {
  const ofKernel = reached('kernel/src/thread.ts')
  t.strictSame(ofKernel, [
    'kernel/test/node.test.ts',
    'kernel/test/start.test.ts',
    'plugins/files/test/read.test.ts',
    'plugins/web/test/pages.test.ts',
    'test/boot/presets.test.ts',
    'test/boot/stop.test.ts',
  ])
  t.strictSame(reached('kernel/package.json'), ofKernel)
  t.strictSame(reached('plugins/web/bundle/page.css'), [
    'plugins/web/test/pages.test.ts',
    'test/boot/presets.test.ts',
    'test/release/pack.test.ts',
  ])
})

test('a fixture reaches the tests of its folder, a document those that read it, the rest of the root all', async (t) => {
  const ofBoot = ['test/boot/presets.test.ts', 'test/boot/stop.test.ts']
  t.strictSame(reached('test/boot/fixtures/broken/package.json'), ofBoot)
  t.strictSame(reached('test/boot/fixtures/broken/index.ts'), ofBoot)
  t.strictSame(reached('plugins/files/README.md'), ['plugins/files/test/readme.test.ts'])
  t.strictSame(reached('plugins/web/README.md'), [])
  t.strictSame(reached('package-lock.json'), tests.toSorted())
  t.strictSame(reached(), [])
})

test('each test is told the first change that reaches it', async (t) => {
  const both = reachedTests(['kernel/src/cli/start.ts', 'package.json'], tests, {
    packages,
    files,
    textOf: (file) => sources[file]?.text ?? '',
  })
  t.equal(both.get('kernel/test/start.test.ts'), 'kernel/src/cli/start.ts')
  t.equal(both.get('kernel/test/node.test.ts'), 'package.json')
})

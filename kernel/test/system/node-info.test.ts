import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { definePlugin, NodeInfo } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { createTestNode } from '../../src/testing/index.ts'

const root = join(import.meta.dirname, '../../..')

test('a plugin learns what runs, since when and from where', async (t) => {
  const event = process.env.npm_lifecycle_event
  t.teardown(() => {
    if (event === undefined) delete process.env.npm_lifecycle_event
    else process.env.npm_lifecycle_event = event
  })
  process.env.npm_lifecycle_event = 'start'
  const before = Date.now()
  const { promise: found, resolve } = Promise.withResolvers<NodeInfo>()
  const status = definePlugin({
    id: 'status',
    requires: { info: NodeInfo },
    setup: ({ info }) => resolve(info),
  })
  const broken = definePlugin({
    id: 'broken',
    setup() {
      throw new Error('It is broken.')
    },
  })
  const node = await createTestNode({
    plugins: [status, broken],
    config: { plugins: { broken: { required: false }, unused: false } },
  })
  t.teardown(() => node.stop())
  const { startedAt, commit, buildDate, plugins, absentPlugins, isClaimed, mayClaim, ...info } = await found
  t.strictSame(plugins(), [{ id: 'status', version: '0.0.0' }])
  t.strictSame(absentPlugins(), ['broken'])
  t.notOk(await isClaimed())
  const code = node.claimCode() ?? ''
  t.ok(await mayClaim(code.toLowerCase()))
  t.notOk(await mayClaim('AAAA-AAAA-AAAA'))
  await node.signIn('owner')
  t.ok(await isClaimed())
  t.notOk(await mayClaim(code), 'the node has an owner')
  t.same(info, { version: manifest.version, installation: 'sources', folder: root, command: 'npm start --' })
  t.ok(startedAt.getTime() >= before && startedAt.getTime() <= Date.now())
  if (!existsSync(join(root, '.git'))) return t.comment('These sources are no checkout.')
  const git = (format: string) =>
    execFileSync('git', ['log', '-1', `--format=${format}`], { cwd: root, encoding: 'utf8' }).trim()
  t.equal(commit, git('%H'))
  t.equal(buildDate?.getTime(), Number(git('%ct')) * 1000)
})

/** Asks a copy of the module, in the place that it has in a published package. */
async function ask(packageFolder: string, build?: object): Promise<object> {
  const published = await readFile(join(root, 'kernel/src/system/node-info.ts'), 'utf8')
  const system = join(packageFolder, 'dist/system')
  await mkdir(system, { recursive: true })
  await writeFile(
    join(packageFolder, 'package.json'),
    JSON.stringify({ version: '1.2.3', type: 'module', build }),
  )
  const script = (source: string) => stripTypeScriptTypes(source).replaceAll(/(from '\..*)\.ts'/g, "$1.js'")
  await writeFile(join(system, 'node-info.js'), script(published))
  const version = await readFile(join(root, 'kernel/src/system/kernel-version.ts'), 'utf8')
  await writeFile(join(system, 'kernel-version.js'), script(version))
  const { readNodeInfo } = await import(pathToFileURL(join(system, 'node-info.js')).href)
  const { startedAt: _, ...info } = await readNodeInfo()
  return info
}

test('packages and releases tell the commit and the date of their build', async (t) => {
  const folder = t.testdir()
  const kernel = join(folder, 'node_modules/@nodekeep/kernel')
  const commit = 'c'.repeat(40)
  const build = { commit, date: '2026-01-02T03:04:05.000Z' }
  const info = { version: '1.2.3', commit, buildDate: new Date(build.date) }
  t.same(await ask(kernel, build), { ...info, installation: 'packages', folder: kernel })

  const release = join(folder, 'release')
  await mkdir(join(release, 'node_modules/@nodekeep'), { recursive: true })
  await cp(kernel, join(release, 'node_modules/@nodekeep/kernel'), { recursive: true })
  await writeFile(join(release, 'release.json'), '{}')
  t.same(await ask(join(release, 'node_modules/@nodekeep/kernel'), build), {
    ...info,
    installation: 'release',
    folder: release,
  })
})

test('a package without a stamp tells no commit', async (t) => {
  const folder = join(t.testdir(), 'kernel')
  t.same(await ask(folder), {
    version: '1.2.3',
    commit: null,
    buildDate: null,
    installation: 'packages',
    folder,
  })
})

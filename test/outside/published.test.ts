import { execFile } from 'node:child_process'
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { workspaces } from '../release/build.ts'
import { buildStamp } from '../release/build-stamp.ts'
import { root } from '../run/command.ts'
import { checkInstalls } from '../walls/installs.ts'
import { consumerForTest } from './consumer.ts'

const consumer = await consumerForTest(t)

t.test('the installation of the packages compiles and downloads nothing', async (t) => {
  t.strictSame(checkInstalls(consumer.folder), [])
  const lock = await readFile(join(consumer.folder, 'package-lock.json'), 'utf8')
  t.notMatch(lock, 'node_modules/better-sqlite3"')
})

t.test('the published declarations compile', async (t) => {
  const tsc = join(root, 'node_modules/.bin/tsc')
  await t.resolves(consumer.run(tsc, '--project', consumer.folder, '--skipLibCheck', 'false'))
})

t.test('source maps refer to published sources', async (t) => {
  const scope = join(consumer.folder, 'node_modules/@nodekeep')
  let count = 0
  for (const path of await readdir(scope, { recursive: true })) {
    if (!/^[^/]+\/dist\/(?!vendor\/).*\.map$/.test(path)) continue
    const file = join(scope, path)
    const { sources } = JSON.parse(await readFile(file, 'utf8')) as { sources: string[] }
    for (const source of sources) {
      const found = join(dirname(file), source)
      const [name = ''] = path.split('/')
      if (!found.startsWith(join(scope, name, 'src'))) t.fail(`${path} leads to ${source}`)
      await access(found)
    }
    count += 1
  }
  t.ok(count > 100)
})

t.test('links of a README lead to files of its package', async (t) => {
  const scope = join(consumer.folder, 'node_modules/@nodekeep')
  let count = 0
  for (const name of await readdir(scope)) {
    const readme = await readFile(join(scope, name, 'README.md'), 'utf8')
    for (const [, target = ''] of readme.matchAll(/\]\((?!#|https?:)([^)#]+)/g)) {
      await t.resolves(access(join(scope, name, target)), `${name}: ${target}`)
      count += 1
    }
  }
  t.ok(count >= 3, 'the README of the SDK has links to the examples')
})

for (const { manifest } of workspaces()) {
  for (const command of Object.keys(manifest.bin ?? {})) {
    t.test(`the command ${command} starts, prints its version and helps`, async (t) => {
      const program = join(consumer.folder, 'node_modules/.bin', command)
      t.match(await consumer.run(program, '--version'), manifest.version)
      t.match(await consumer.run(program, '--help'), new RegExp(`^Usage: ${command}`, 'm'))
    })
  }

  if (manifest.exports?.['./client'] === undefined) continue
  const client = `${manifest.name}/client`
  t.test(`${client} loads nothing of the node`, async (t) => {
    const loaded = await consumer.run('node', '--input-type=module', '--eval', loadedModules(client))
    const outOfPlace = /@nodekeep\/(?!plugin-sdk\/)[^/]+\/dist\/(?!client|browser|protocol)/
    const files: string[] = JSON.parse(loaded)
    t.ok(files.some((file) => /\/dist\/(client|browser)\/index\.js$/.test(file)))
    t.strictSame(
      files.filter((file) => outOfPlace.test(file)),
      [],
    )
  })
}

t.test('the package of file sync contains the client that the node offers', async (t) => {
  const client = 'node_modules/@nodekeep/file-sync/bundle/nodekeep-sync.cjs'
  t.match(await consumer.run('node', client, '--help'), /^Usage: nodekeep-sync/m)
})

/** Returns a program that imports a module, and prints the addresses of all modules that were loaded. */
function loadedModules(name: string): string {
  return `
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
await import('${name}')
console.log(JSON.stringify(loaded))`
}

/** Runs in a program that has installed the packages. */
const program = `
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, NodeInfo } from '@nodekeep/plugin-sdk'
import { unpackArchive } from '@nodekeep/plugin-sdk/archive'

let found
const status = definePlugin({ id: 'status', requires: { info: NodeInfo }, setup: ({ info }) => { found = info } })
const node = await createTestNode({ plugins: [status] })
await node.stop()
const names = []
await unpackArchive('archive.tar.gz', 'unpacked', { maxBytes: 1_000_000 }, ({ path }) => names.push(path))
console.log(JSON.stringify({ info: found, names }))
`

t.test(
  'the installed kernel tells its build and its place, and the SDK unpacks archives in its thread',
  async (t) => {
    await writeFile(join(consumer.folder, 'published.mjs'), program)
    await promisify(execFile)('tar', ['-czf', 'archive.tar.gz', 'published.mjs'], { cwd: consumer.folder })
    await mkdir(join(consumer.folder, 'unpacked'))
    const { info, names } = JSON.parse(await consumer.run('node', 'published.mjs'))
    const { commit, date } = await buildStamp()
    t.match(info, { commit, buildDate: date, installation: 'packages' })
    t.equal(info.folder, join(consumer.folder, 'node_modules/@nodekeep/kernel'))
    t.strictSame(names, ['published.mjs'])
  },
)

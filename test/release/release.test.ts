import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
import { root } from '../run/command.ts'
import { packedPlugin } from '../update/registry.ts'
import { wat } from '../wasm/wat.ts'
import { serviceOf } from './installed-service.ts'
import { packedForTest } from './pack.ts'
import { buildRelease } from './release.ts'
import { packRelease } from './release-archive.ts'

const run = promisify(execFile)

const work = await mkdtemp(join(tmpdir(), 'nodekeep-release-test-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const packages = await packedForTest(join(work, 'packages'))
const archive = await buildRelease(join(work, 'one'), { packages, level: 1 })
const place = join(work, 'a folder')
await mkdir(place)
await run('tar', ['-xzf', archive, '-C', place])
const [name = '', ...others] = await readdir(place)
const release = join(place, name)
const nodekeep = join(release, 'bin/nodekeep')
const manifestOfPackage = /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/
/** A machine that has a shell, and neither Node nor a home folder. */
const env = { PATH: '/bin', HOME: join(work, 'home'), XDG_CACHE_HOME: join(work, 'cache') }

t.test('the archive is one folder of at most 90 MB, and describes itself', async (t) => {
  t.same(others, [])
  t.ok((await stat(archive)).size <= 90_000_000)
  const described = JSON.parse(await readFile(join(release, 'release.json'), 'utf8'))
  t.equal(name, `nodekeep-${described.version}`)
  t.match(described, {
    platform: `${process.platform}-${process.arch}`,
    node: process.versions.node,
    schema: [{ id: '1-plugin-state', change: 'expand' }],
  })
  const files = await readdir(release, { recursive: true })
  t.same(
    files.filter((file) => /\.(map|ts)$|(^|\/)\.|node_modules\/(?!@nodekeep).*\/test\//.test(file)),
    [],
    'files that no program loads',
  )
  t.ok(files.includes('node_modules/@nodekeep/file-sync/bundle/nodekeep-sync.cjs'), 'the client for devices')
})

t.test('the libraries are those that npm installs for production', async (t) => {
  interface Locked {
    readonly version: string
    readonly link?: boolean
    readonly dev?: boolean
    readonly devOptional?: boolean
  }
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const libraries = Object.entries(lock.packages as Record<string, Locked>).flatMap(
    ([path, { version, link, dev, devOptional }]) =>
      link || dev || devOptional ? [] : [`${path.split('node_modules/').at(-1)} ${version}`],
  )
  const known = new Set(libraries)
  for (const file of await readdir(release, { recursive: true })) {
    if (!manifestOfPackage.test(file) || file.startsWith('node_modules/@nodekeep/')) continue
    const { name, version } = JSON.parse(await readFile(join(release, file), 'utf8'))
    t.ok(known.has(`${name} ${version}`), `${name} ${version}`)
  }
})

t.test(
  'each package of the release says its license, and has the text of it that it came with',
  async (t) => {
    const manifests = (await readdir(release, { recursive: true })).filter((file) =>
      manifestOfPackage.test(file),
    )
    t.ok(manifests.length > 200)
    const named = /^(licen[cs]e|copying)/i
    for (const file of manifests) {
      const { name, license, licenses } = JSON.parse(await readFile(join(release, file), 'utf8'))
      t.ok(license ?? licenses, `${name} says its license`)
      const folder = dirname(file)
      const own = await readdir(join(release, folder))
      if (own.some((entry) => named.test(entry))) continue
      const origin = await readdir(join(root, folder))
      t.notOk(
        origin.some((entry) => named.test(entry)),
        `${name} has its license`,
      )
      const readmes = (entries: string[]) => entries.filter((entry) => /^readme/i.test(entry))
      t.same(readmes(own), readmes(origin), `${name} has its README, where its license may be`)
    }
    for (const file of ['LICENSE', 'runtime/LICENSE'])
      t.ok((await stat(join(release, file))).size > 1000, file)
  },
)

t.test(
  'the same content gives the same bytes, whatever the times, owners and order on the disk',
  async (t) => {
    const version = { version: '1.0.0', platform: 'any', buildDate: '2026-11-01T00:00:00.000Z' }
    const contents = Object.entries({
      'release.json': JSON.stringify(version),
      'bin/program': '#!/bin/sh\n',
      'lib/b.js': 'b',
      'lib/a.js': 'a',
    })
    const packed = async (folder: string, files: typeof contents, mask: number, owner: number) => {
      for (const [path, content] of files) {
        const file = join(work, folder, path)
        await mkdir(dirname(file), { recursive: true })
        await writeFile(file, content)
        await chmod(file, (path.startsWith('bin/') ? 0o777 : 0o666) & ~mask)
        await utimes(file, owner, mask)
        if (process.getuid?.() === 0) await chown(file, owner, owner)
      }
      return readFile(await packRelease(join(work, folder), join(work, folder), 1))
    }
    const one = await packed('one copy', contents, 0o022, 0)
    const other = await packed('other copy', contents.toReversed(), 0o077, 1)
    t.ok(one.equals(other))
  },
)

t.test('the command works through a symbolic link, from any folder', async (t) => {
  const link = join(work, 'nodekeep')
  await symlink(nodekeep, link)
  const { stdout } = await run(link, ['--version'], { env, cwd: '/' })
  t.equal(`nodekeep-${stdout.trim()}`, name)
})

t.test('every plugin of the release starts', async (t) => {
  const data = join(work, 'checked')
  await t.resolves(run(nodekeep, ['config', 'check', '--deep', '--data', data], { env, cwd: work }))
})

t.test('a plugin is added to a node of the release, on a machine without a home folder', async (t) => {
  const folder = join(work, 'added')
  await mkdir(folder)
  await writeFile(join(folder, 'threaded.tgz'), await packedPlugin())
  const at = { env, cwd: folder }
  const { stdout } = await run(nodekeep, ['plugins', 'add', 'threaded.tgz', '--yes'], at)
  t.match(stdout, 'route GET /threaded/word: for signed-in users')
  const listed = await run(nodekeep, ['plugins', 'list'], at)
  t.match(listed.stdout, 'threaded  ready to start')
})

t.test('service install writes a service whose launcher runs the node', async (t) => {
  const machine = join(work, 'machine')
  const at = (path: string) => join(machine, path)
  const install = ['service', 'install', '--root', machine]
  const { stdout } = await run(nodekeep, install, { env })
  for (const command of ['useradd ', 'systemctl daemon-reload', 'systemctl restart nodekeep']) {
    t.match(stdout, command)
  }
  const service = await serviceOf(machine)
  const { unit, data } = service
  t.equal(
    unit,
    await readFile(join(release, 'systemd/nodekeep.service'), 'utf8'),
    'it is that of the release',
  )
  if (needsPrograms('systemd-analyze') === false) {
    // The account and the launcher are those of another machine.
    const file = join(work, 'nodekeep.service')
    const here = unit.replace('User=nodekeep', 'User=daemon').replace(/^(ExecStart=)/m, `$1${machine}`)
    await writeFile(file, here)
    const { stderr } = await run('systemd-analyze', ['verify', '--man=no', file])
    t.notMatch(stderr, 'nodekeep.service')
  }
  const configuration = at('etc/nodekeep/nodekeep.json')
  await writeFile(configuration, '{ "extends": "nodekeep:minimal" }')
  // The installed release stays in its place.
  const installed = at(`usr/local/lib/nodekeep/${name}/bin/nodekeep`)
  await run(installed, install, { env })
  t.match(await readFile(configuration, 'utf8'), 'minimal', 'it leaves a configuration as it is')

  const node = spawn(service.launcher, service.args, {
    env: { ...env, ...service.env, NODEKEEP_SERVER__PORT: '0' },
    cwd: machine,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => node.kill('SIGKILL'))
  const ended = once(node, 'exit')
  await output(node.stdout, /"The node is ready\."/)
  t.equal(await realpath(join(data, 'releases/current')), at(`usr/local/lib/nodekeep/${name}`))
  node.kill('SIGTERM')
  t.same(await ended, [0, null])

  const inData = [...install, '--config', '/var/lib/nodekeep/nodekeep.json']
  await t.rejects(run(installed, inData, { env }), /root writes nothing into the folders of the node/)
  t.notOk((await readdir(data)).some((file) => file.startsWith('nodekeep.json')))
  await writeFile(join(data, 'nodekeep.json'), '{}')
  await run(installed, inData, { env })

  t.match((await run(nodekeep, ['service', 'uninstall', '--root', machine], { env })).stdout, 'Removed')
  t.same(await readdir(at('usr/local/lib')), [])
  t.same(await readdir(at('etc/systemd/system')), [])
  t.ok((await stat(configuration)).isFile())
  t.ok((await stat(join(data, 'state.sqlite'))).isFile())
})

t.test('a node starts, signs in, runs a function, and stops', async (t) => {
  const data = join(work, 'data')
  const node = spawn(nodekeep, ['start', '--port', '0', '--data', data], {
    env,
    cwd: work,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => node.kill('SIGKILL'))
  const ended = once(node, 'exit')
  const banner = await output(node.stderr, /http:\/\/127\.0\.0\.1:\d+[\s\S]* session create/)
  const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(banner) ?? []
  t.ok(banner.endsWith(`'${nodekeep}' session create`), 'the banner prints the command of this release')
  t.match(await (await fetch(`${address}/health`)).json(), { status: 'ok' })
  const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
  const { stdout } = await run(nodekeep, ['session', 'create', '--data', data, '--wallet', wallet], {
    env,
    cwd: work,
  })
  const authorization = `Bearer ${/nks_\S+/.exec(stdout)?.[0]}`
  const whoami = await fetch(`${address}/whoami`, { headers: { authorization } })
  t.match(await whoami.json(), { user: { authenticated: true } })
  const module =
    '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'
  await fetch(`${address}/write?path=/add.wasm`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/wasm' },
    body: await wat(module),
  })
  const called = await fetch(`${address}/api/wasm/execute-file`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ filepath: '/add.wasm', function: 'add', args: [19, 23] }),
  })
  t.match(await called.json(), { success: true, result: 42 })
  node.kill('SIGTERM')
  t.same(await ended, [0, null])
})

/** Waits for a text of a program, and returns it. */
async function output(stream: Readable | null, pattern: RegExp): Promise<string> {
  let all = ''
  for await (const text of stream?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ?? []) {
    all += text
    const [found] = pattern.exec(all) ?? []
    if (found === undefined) continue
    stream?.resume()
    return found
  }
  throw new Error(`The program printed nothing like ${pattern}: ${all}`)
}

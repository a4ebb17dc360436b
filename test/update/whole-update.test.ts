import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { crashAtStart } from './bad-releases.ts'
import { expandDatabases, patch, staleTables } from './expanded-release.ts'
import { InstalledNode } from './installed-node.ts'
import { serveReleases, setVersion } from './release-server.ts'
import { UpdatePage } from './update-page.ts'

const work = await mkdtemp(join(tmpdir(), 'nodekeep-whole-update-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const server = await serveReleases(work)
t.teardown(() => server.close())
const [node, browser] = await Promise.all([
  InstalledNode.install(server),
  needsChromium === false ? startChromium(t) : null,
])
t.teardown(() => node.remove())

const data = join(node.folder, 'data')

/** The archive of the version 0.2.0. */
let newer = ''

/** The configuration of `update` has a key that former versions do not know. */
async function addKey(release: string): Promise<void> {
  await patch(join(release, 'node_modules/@nodekeep/update/dist/configuration.js'), [
    ['automatic:', 'color: Type.Optional(Type.String()), automatic:'],
  ])
}

t.test('a node updates itself, and goes back with everything that was written', async (t) => {
  t.equal(await node.version(), '0.1.0')
  await node.write()
  newer = await server.publish('0.2.0', async (release) => {
    await expandDatabases(release)
    await addKey(release)
  })
  const page = browser === null ? null : await UpdatePage.open(browser, node)
  if (page === null) t.pass('the page of the node', { skip: needsChromium })
  await page?.check(t, '0.2.0')
  t.same(await node.ask('/api/update/check', { method: 'POST' }), {
    status: 200,
    body: { updateAvailable: true, latestVersion: '0.2.0' },
  })
  t.match(await node.ask('/api/update/status'), {
    body: { currentVersion: '0.1.0', latestVersion: '0.2.0', releaseNotes: 'Notes of 0.2.0' },
  })

  const there = await node.during(async () => {
    const answer = page === null ? await node.update() : await page.install('0.2.0')
    t.match(answer, { status: 200, body: { success: true } })
    t.match(await node.attempt(1), { from: '0.1.0', to: '0.2.0', result: 'installed', reason: null })
  })
  await page?.follow(t, '0.1.0', '0.2.0')
  t.same(there.failures, [])
  t.comment(`longest of ${there.count} answers: ${Math.round(there.longestMs)} ms`)
  t.equal(await node.version(), '0.2.0')
  const copies = [{ before: '0.2.0', folder: join(node.releases, 'before-0.2.0') }]
  t.match(await node.ask('/api/update/details'), {
    body: { wayBack: { version: '0.1.0', problems: [] }, copies },
  })
  t.match(await node.lost(), { lost: [] })
  t.same(staleTables(data), [])

  const file = join(node.folder, 'nodekeep.json')
  const configuration = await readFile(file, 'utf8')
  await writeFile(file, JSON.stringify({ ...JSON.parse(configuration), update: { color: 'red' } }))
  t.match(await node.ask('/api/update/details'), { body: { wayBack: { problems: [/^update\.color /] } } })
  const command = join(node.releases, 'current/bin/nodekeep')
  const status = await promisify(execFile)(command, ['update', 'status'], { cwd: node.folder })
  t.match(status.stdout, /which version 0\.1\.0 refuses:\s+update\.color /)
  t.match(status.stdout, /from before version 0\.2\.0 take \d+ MiB until .*before-0\.2\.0/)
  t.match(await node.ask('/api/update/back', { method: 'POST' }), {
    status: 409,
    body: { message: /0\.1\.0 could not start .*update\.color/ },
  })
  await writeFile(file, configuration)

  const back = await node.during(async () => {
    t.match(await node.ask('/api/update/back', { method: 'POST' }), { status: 200 })
    t.match(await node.attempt(2), {
      from: '0.2.0',
      to: '0.1.0',
      result: 'went back',
      reason: 'The owner of the node asked for it.',
    })
  })
  t.same(back.failures, [])
  t.equal(await node.version(), '0.1.0')
  const { lost, accepted } = await node.lost()
  t.same(lost, [])
  t.ok(accepted > 10, 'clients have written meanwhile')
  t.same(staleTables(data), [], 'triggers keep the tables of a version that does not run')
})

t.test(
  'a newer release that root installs takes over the data of a service, and the way back works',
  async (t) => {
    const service = await InstalledNode.installService(server)
    t.teardown(() => service.remove())
    await service.run('user', 'add', '0x8617E340B3D01FA5F11F306F4090FD50E238070D', '--username', 'ada')
    // The requests of this test change when its user was last seen, once a minute.
    const users = async () => {
      const { body } = await service.ask('/api/users')
      const { users } = body as { readonly users: readonly object[] }
      return users.map((user) => ({ ...user, lastSeen: null }))
    }
    const before = await users()
    await service.write()
    const restart = async (version: string) => {
      await service.restartService()
      await service.answers()
      t.equal(await service.version(), version)
      t.match(await service.lost(), { lost: [] })
      t.same(await users(), before)
    }

    const unpacked = await service.unpack(newer)
    const broken = `${unpacked}-broken`
    await promisify(execFile)('cp', ['-al', unpacked, broken])
    await setVersion(broken, '0.1.5')
    await crashAtStart(broken)
    await service.installService(broken)
    await restart('0.1.0')
    t.match(await service.attempt(1), { from: '0.1.0', to: '0.1.5', result: 'failed' })

    await service.installService(unpacked)
    await restart('0.2.0')
    t.match(await service.attempt(2), { from: '0.1.0', to: '0.2.0', result: 'installed', reason: null })
    t.same(staleTables(join(service.releases, '..')), [])
    await service.write()
    t.match(await service.ask('/api/update/back', { method: 'POST' }), { status: 200 })
    t.match(await service.attempt(3), { from: '0.2.0', to: '0.1.0', result: 'went back' })
    await service.write()
    await restart('0.1.0')
    t.match(service.output, 'Version 0.1.0 runs, since version 0.2.0 was left here before')
    t.equal((await service.lost()).accepted, 3)

    const installed = join(service.folder, 'usr/local/lib/nodekeep')
    await service.installService(join(installed, 'first'))
    const kept = await readdir(installed)
    t.same(kept.sort(), ['first', 'nodekeep-0.1.0', 'nodekeep-0.2.0', 'nodekeep-service'])
  },
)

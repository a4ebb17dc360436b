import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Updater } from 'tuf-js'
import { packRelease } from '../release-archive.ts'
import type { RoleName } from './metadata.ts'
import { addReleases } from './releases.ts'
import { Repository } from './repository.ts'
import { SigningKey } from './signing-key.ts'
import { serveFolder } from './static-server.ts'
import { verifyRepository } from './verify-repository.ts'

const dayMs = 86_400_000
const platform = 'linux-x64'

async function temporaryFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-tuf-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Makes the smallest archive that is a release. */
async function release(folder: string, version: string, content = version): Promise<string> {
  const unpacked = join(folder, `unpacked-${version}-${content}`)
  await mkdir(join(unpacked, 'bin'), { recursive: true })
  await writeFile(join(unpacked, 'bin/nodekeep'), content, { mode: 0o755 })
  const described = { version, platform, buildDate: '2026-11-01T00:00:00.000Z' }
  await writeFile(join(unpacked, 'release.json'), JSON.stringify(described))
  const into = join(folder, content)
  await mkdir(into, { recursive: true })
  return packRelease(unpacked, into, 1)
}

async function create(t: Test, now = new Date()) {
  const folder = await temporaryFolder(t)
  const keys = Object.fromEntries(
    ['root', 'targets', 'releases', 'snapshot', 'timestamp'].map((role) => [role, [SigningKey.create()]]),
  ) as Record<RoleName, SigningKey[]>
  const repository = await Repository.create(join(folder, 'repository'), keys, { now })
  const online = [...keys.releases, ...keys.snapshot, ...keys.timestamp]
  const add = async (version: string, content = version, at = now) =>
    addReleases(
      repository,
      [{ file: await release(folder, version, content), notes: (version) => `Notes of ${version}` }],
      online,
      at,
    )
  return { folder, keys, online, repository, add }
}

/** A node's view of the repository, with a folder of metadata that lasts. */
async function client(t: Test, repository: Repository) {
  const metadataDir = await temporaryFolder(t)
  await writeFile(
    join(metadataDir, 'root.json'),
    await readFile(join(repository.folder, 'metadata/1.root.json')),
  )
  const server = await serveFolder(repository.folder)
  t.teardown(() => server.close())
  return async () => {
    const updater = new Updater({
      metadataDir,
      metadataBaseUrl: `${server.url}/metadata`,
      targetDir: metadataDir,
      targetBaseUrl: `${server.url}/targets`,
      config: { fetchRetries: 0 },
    })
    const info = await updater.getTargetInfo(`${platform}/index.json`)
    if (info === undefined) throw new Error('There is no index.')
    const index = JSON.parse(await readFile(await updater.downloadTarget(info), 'utf8'))
    const archive = await updater.getTargetInfo(index.releases[0].archive)
    if (archive === undefined) throw new Error('There is no archive.')
    await updater.downloadTarget(archive)
    return index
  }
}

t.test('a node finds the newest release with its notes, and downloads it', async (t) => {
  const { repository, add } = await create(t)
  t.same(await add('1.0.0'), [`${platform}/nodekeep-1.0.0-${platform}.tar.gz`])
  const read = await client(t, repository)
  t.match(await read(), { latest: '1.0.0', releases: [{ version: '1.0.0', notes: 'Notes of 1.0.0' }] })
  await add('1.1.0')
  const index = await read()
  t.equal(index.latest, '1.1.0')
  t.same(
    index.releases.map(({ version }: { version: string }) => version),
    ['1.1.0', '1.0.0'],
  )
  t.equal((await verifyRepository(repository.folder)).length, 2)
  const sums = await readFile(join(repository.folder, 'targets', platform, 'SHA256SUMS'), 'utf8')
  t.equal(sums.trim().split('\n').length, 2)
})

t.test('a release is added once, only if it is newer, and only if it is whole', async (t) => {
  const { folder, repository, online, add } = await create(t)
  await add('1.1.0')
  t.same(await add('1.1.0'), [], 'the same again')
  await t.rejects(add('1.1.0', 'other'), /published already, with another content/)
  await t.rejects(add('1.0.0'), /1\.0\.0 is not newer than 1\.1\.0/)
  await t.rejects(add('1.2.0-rc.1'), /Published versions are like 1\.2\.0/)
  const file = await release(folder, '1.2.0')
  await writeFile(file, (await readFile(file)).subarray(0, 100))
  await t.rejects(addReleases(repository, [{ file, notes: () => '' }], online))
  t.equal((await verifyRepository(repository.folder)).length, 1)
})

t.test('the 20 newest releases stay', async (t) => {
  const { repository, add } = await create(t)
  for (let minor = 0; minor < 22; minor += 1) await add(`1.${minor}.0`)
  const archives = await verifyRepository(repository.folder)
  t.equal(archives.length, 20)
  const files = await readdir(join(repository.folder, 'targets', platform))
  t.notOk(files.some((name) => /nodekeep-1\.[01]\.0-/.test(name)))
})

t.test('metadata expires, and is renewed', async (t) => {
  const past = new Date(Date.now() - 8 * dayMs)
  const { repository, online, add } = await create(t, past)
  await add('1.0.0')
  const read = await client(t, repository)
  await t.rejects(read(), /timestamp\.json is expired/)
  const opened = await Repository.open(repository.folder)
  t.same(await opened.renew(online), ['snapshot', 'timestamp'])
  t.equal((await read()).latest, '1.0.0')
  await t.rejects(opened.renew([]), /"timestamp" must be signed by 1 of the keys/)
})

t.test('root keys are replaced with the signatures of the former and the new ones', async (t) => {
  const { keys, repository, add } = await create(t)
  await add('1.0.0')
  const read = await client(t, repository)
  await read()
  const successors = [SigningKey.create(), SigningKey.create()]
  await t.rejects(
    repository.replaceKeys('root', successors, [], { threshold: 2 }),
    /"root" must be signed by 1/,
  )
  t.same(await repository.replaceKeys('root', successors, keys.root, { threshold: 2 }), ['root'])
  t.equal((await read()).latest, '1.0.0')
  const timestamp = [SigningKey.create()]
  await t.rejects(repository.replaceKeys('timestamp', timestamp, keys.root), /must be signed by 2/)
  await t.rejects(
    repository.replaceKeys('root', [SigningKey.create()], successors),
    /threshold must be from 1 to 1/,
    'as many keys must sign as before, unless the caller says otherwise',
  )
  await repository.replaceKeys('timestamp', timestamp, successors)
  t.equal((await read()).latest, '1.0.0')
  t.equal((await verifyRepository(repository.folder)).length, 1, 'the oldest root leads to the newest')
})

t.test('a replaced key of releases is no longer trusted', async (t) => {
  const { keys, online, repository, add } = await create(t)
  await add('1.0.0')
  const read = await client(t, repository)
  const successor = SigningKey.create()
  await repository.replaceKeys('releases', [successor], [...keys.targets, ...online])
  t.equal((await read()).latest, '1.0.0')
  await t.rejects(add('1.1.0'), /"releases" must be signed by 1/)
})

t.test('nodes refuse metadata with a wrong signature, and changed archives', async (t) => {
  const { repository, add } = await create(t)
  await add('1.0.0')
  const timestamp = join(repository.folder, 'metadata/timestamp.json')
  const whole = await readFile(timestamp, 'utf8')
  await writeFile(timestamp, whole.replace(/"sig": "..../, '"sig": "0000'))
  await t.rejects((await client(t, repository))(), /timestamp was signed by 0\/1 keys/)
  await writeFile(timestamp, whole)
  const folder = join(repository.folder, 'targets', platform)
  const [archive = ''] = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}\.nodekeep/.test(name))
  const content = await readFile(join(folder, archive))
  content[content.length - 1] = 1
  await writeFile(join(folder, archive), content)
  await t.rejects((await client(t, repository))(), /hash/)
  await t.rejects(verifyRepository(repository.folder), /hash/)
})

import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { packRelease } from '../release/release-archive.ts'
import { addReleases } from '../release/tuf/releases.ts'
import { Repository } from '../release/tuf/repository.ts'
import { SigningKey } from '../release/tuf/signing-key.ts'
import { serveFolder } from '../release/tuf/static-server.ts'
import { startWithSource } from './fixtures/plugin-fixtures.ts'

const { signal } = new AbortController()
const platform = `${process.platform}-${process.arch}`

/** Makes a repository with two root keys, on a server, and a node that trusts its first root. */
async function publishing(t: Test) {
  const folder = t.testdir({})
  const key = () => [SigningKey.create()]
  const keys = {
    root: [...key(), ...key()],
    targets: key(),
    releases: key(),
    snapshot: key(),
    timestamp: key(),
  }
  const all = Object.values(keys).flat()
  const repository = await Repository.create(join(folder, 'repository'), keys, { rootThreshold: 2 })
  const root = join(folder, 'trusted-root.json')
  await copyFile(join(repository.folder, 'metadata/root.json'), root)
  const server = await serveFolder(repository.folder)
  t.teardown(() => server.close())

  const { source } = await startWithSource(t, { url: server.url, root })
  const publish = async (version: string, signers: readonly SigningKey[], into = repository) => {
    const release = await mkdtemp(join(folder, 'release-'))
    await mkdir(join(release, 'bin'))
    await writeFile(join(release, 'bin/nodekeep'), '#!/bin/sh\n')
    await chmod(join(release, 'bin/nodekeep'), 0o755)
    const described = { version, platform, buildDate: '2026-01-01T00:00:00Z' }
    await writeFile(join(release, 'release.json'), JSON.stringify(described))
    const file = await packRelease(release, folder)
    await addReleases(into, [{ file, notes: (of) => `Notes of ${of}` }], signers)
  }
  return { folder, key, keys, all, repository, root, source, publish }
}

test('a node finds and unpacks what the tools for releases publish', async (t) => {
  const { folder, all, source, publish } = await publishing(t)
  await publish('99.1.0', all)
  t.same(await source.latest('1.0.0', signal), { version: '99.1.0', notes: 'Notes of 99.1.0' })
  const target = join(folder, 'target')
  await mkdir(target)
  await source.download({ version: '99.1.0' }, target, { signal })
  t.same((await readdir(target, { recursive: true })).sort(), ['bin', 'bin/nodekeep', 'release.json'])
  t.match(JSON.parse(await readFile(join(target, 'release.json'), 'utf8')), { version: '99.1.0', platform })
})

test('a node follows when keys are renewed and replaced', async (t) => {
  const { key, all, repository, source, publish } = await publishing(t)
  await publish('99.1.0', all)
  t.match(await source.latest('1.0.0', signal), { version: '99.1.0' })
  await repository.renew(all)
  t.match(await source.latest('1.0.0', signal), { version: '99.1.0' })
  const roots = [...key(), ...key(), ...key()]
  await repository.replaceKeys('root', roots, all, { threshold: 2 })
  const delegated = key()
  await repository.replaceKeys('releases', delegated, [...all, ...roots])
  await publish('99.2.0', [...all, ...roots, ...delegated])
  t.match(await source.latest('1.0.0', signal), { version: '99.2.0', notes: 'Notes of 99.2.0' })
})

test('replaced keys are not trusted again by the release before the one that brought the new keys', async (t) => {
  const { folder, key, keys, all, repository, root, source, publish } = await publishing(t)
  await publish('99.1.0', all)
  const found = () => source.latest('1.0.0', signal)
  t.match(await found(), { version: '99.1.0' })
  const before = join(folder, 'before')
  await cp(repository.folder, before, { recursive: true })
  const stolen = [...keys.timestamp, ...keys.snapshot, ...keys.releases]
  const fresh: SigningKey[] = []
  for (const role of ['timestamp', 'snapshot', 'releases'] as const) {
    const replaced = key()
    fresh.push(...replaced)
    await repository.replaceKeys(role, replaced, [...all, ...fresh])
  }
  await publish('99.2.0', [...all, ...fresh])

  // A person unpacks the release with the new root, and the node goes back from it later on.
  const former = await readFile(root)
  await copyFile(join(repository.folder, 'metadata/root.json'), root)
  t.match(await found(), { version: '99.2.0' })
  const attacked = await Repository.open(before)
  await publish('99.9.0', stolen, attacked)
  await rename(repository.folder, join(folder, 'right'))
  await rename(before, repository.folder)
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' }, 'the release that was unpacked')
  await writeFile(root, former)
  await t.rejects(found(), { code: 'UPSTREAM_ERROR' }, 'the release before')
  await rm(repository.folder, { recursive: true })
  await rename(join(folder, 'right'), repository.folder)
  t.match(await found(), { version: '99.2.0' })
})

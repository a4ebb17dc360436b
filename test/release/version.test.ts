import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { satisfies } from 'semver'
import { type Test, test } from 'tap'
import { root } from '../run/command.ts'
import { readPackages } from '../walls/packages.ts'
import { releaseNotes } from './tuf/release-notes.ts'
import { setVersion } from './version.ts'

const changelog = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Wings.\n'

/** Copies the files of the repository that name versions. */
async function copiedManifests(t: Test): Promise<string> {
  const folder = t.testdir({ 'CHANGELOG.md': changelog })
  const manifests = readPackages(root).map((entry) => join(entry.folder, 'package.json'))
  for (const file of [...manifests, 'package-lock.json']) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await copyFile(join(root, file), join(folder, file))
  }
  return folder
}

/** Checks that each package takes the others of the repository as they are, and that the lock file says the same. */
async function checkFit(t: Test, folder: string): Promise<void> {
  const packages = readPackages(folder)
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]))
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'))
  for (const { folder, manifest } of packages) {
    const { dependencies, devDependencies, peerDependencies, nodekeep } = manifest
    for (const [name, range] of Object.entries({
      ...dependencies,
      ...devDependencies,
      ...peerDependencies,
    })) {
      const version = versions.get(name)
      if (version !== undefined) t.ok(satisfies(version, range), `${manifest.name} takes ${name} ${version}`)
    }
    if (nodekeep?.sdk !== undefined)
      t.ok(satisfies(versions.get('@nodekeep/plugin-sdk') ?? '', nodekeep.sdk), manifest.name)
    t.match(lock.packages[folder], { version: manifest.version })
    t.same(lock.packages[folder].dependencies, dependencies)
  }
}

test('a release gets its version in all packages but the SDK, and its notes in the changelog', async (t) => {
  const folder = await copiedManifests(t)
  const sdk = readPackages(root).find(({ kind }) => kind === 'sdk')?.manifest.version
  await setVersion(folder, { release: '77.1.0' }, '2026-11-23')
  for (const { kind, manifest } of readPackages(folder)) {
    t.equal(manifest.version, kind === 'sdk' ? sdk : '77.1.0', manifest.name)
  }
  t.equal(JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')).version, '77.1.0')
  await checkFit(t, folder)
  const text = await readFile(join(folder, 'CHANGELOG.md'), 'utf8')
  t.equal(text, changelog.replace('\n\n###', '\n\n## [77.1.0] - 2026-11-23\n\n###'))
  t.equal(releaseNotes(text, '77.1.0'), '### Added\n\n- Wings.')
  await t.rejects(
    setVersion(folder, { release: '77.2.0' }, '2026-11-24'),
    /no text below/,
    'a release without changes',
  )
})

test('a new SDK is what all packages take', async (t) => {
  const folder = await copiedManifests(t)
  await setVersion(folder, { release: '77.1.0', sdk: '76.0.0' }, '2026-11-23')
  await checkFit(t, folder)
})

test('a version that is not newer changes nothing', async (t) => {
  const folder = await copiedManifests(t)
  for (const [release, expected] of [
    ['0.0.1', /not newer/],
    ['next', /no version/],
    ['v77.0.0', /no version/],
  ] as const) {
    await t.rejects(setVersion(folder, { release }, '2026-11-23'), expected)
  }
  await writeFile(join(folder, 'CHANGELOG.md'), '# Changelog\n')
  await t.rejects(setVersion(folder, { release: '77.0.0' }, '2026-11-23'), /no text/)
  for (const file of ['package.json', 'package-lock.json', 'kernel/package.json']) {
    t.equal(await readFile(join(folder, file), 'utf8'), await readFile(join(root, file), 'utf8'), file)
  }
})

test('RELEASING.md names the command', async (t) => {
  t.match(await readFile(join(root, 'RELEASING.md'), 'utf8'), 'npm run release:version -- ')
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  t.equal(scripts['release:version'], 'node runtime.js test/release/version.ts')
})

/** `npm run release:version -- VERSION [--sdk VERSION]`: gives the packages and the changelog the version of the next release. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { gt, satisfies, valid } from 'semver'
import { writeBundles } from '../bundle/bundle.ts'
import { root } from '../run/command.ts'
import { readPackages } from '../walls/packages.ts'

/** The versions of a release. */
interface Versions {
  /** The version of all packages but the SDK. */
  readonly release: string
  /** The new version of the SDK. Without it, the SDK keeps its version: plugins name it. */
  readonly sdk?: string
}

/** The parts of a package.json, and of a package in package-lock.json, that name versions. */
interface Versioned {
  version?: string
  nodekeep?: { sdk?: string }
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/**
 * Sets the versions in every package.json and in package-lock.json. A range of versions that does not have the new one follows it. In
 * CHANGELOG.md, the text of "Unreleased" becomes the section of the version.
 *
 * @param repository the folder of the repository
 * @param date the day of the release, such as `2026-11-23`
 * @throws Error, before anything is written, if a version is not newer, or if no change is in the changelog
 */
export async function setVersion(
  repository: string,
  { release, sdk }: Versions,
  date: string,
): Promise<void> {
  const next = new Map<string, { readonly from: string; readonly to: string }>()
  const packages = readPackages(repository)
  for (const { kind, manifest } of packages) {
    const to = kind === 'sdk' ? sdk : release
    if (to === undefined) continue
    if (valid(to) !== to) throw new Error(`"${to}" is no version, such as 1.2.0.`)
    if (!gt(to, manifest.version))
      throw new Error(`${to} is not newer than ${manifest.name} ${manifest.version}.`)
    next.set(manifest.name, { from: manifest.version, to })
  }
  const log = join(repository, 'CHANGELOG.md')
  const changelog = releaseChanges(await readFile(log, 'utf8'), release, date)

  const update = (name: string, described: Versioned) => {
    const own = next.get(name)
    if (own !== undefined) described.version = own.to
    for (const ranges of [
      described.dependencies,
      described.devDependencies,
      described.peerDependencies,
      described.optionalDependencies,
    ]) {
      for (const [name, range] of Object.entries(ranges ?? {})) {
        if (ranges !== undefined) ranges[name] = following(range, next.get(name))
      }
    }
    const { nodekeep } = described
    if (nodekeep?.sdk !== undefined) nodekeep.sdk = following(nodekeep.sdk, next.get('@nodekeep/plugin-sdk'))
  }
  for (const { folder, manifest } of packages) {
    await changeJson<Versioned>(join(repository, folder, 'package.json'), (described) =>
      update(manifest.name, described),
    )
  }
  await changeJson<{ version: string; packages: Record<string, Versioned> }>(
    join(repository, 'package-lock.json'),
    (lock) => {
      lock.version = release
      for (const { folder, manifest } of packages) update(manifest.name, lock.packages[folder] ?? {})
    },
  )
  await writeFile(log, changelog)
}

/** Returns a range that has the new version. */
function following(range: string, version?: { readonly from: string; readonly to: string }): string {
  if (version === undefined || satisfies(version.to, range)) return range
  return range.replace(version.from, version.to)
}

const unreleased = '## [Unreleased]\n'

/** Gives the text below "Unreleased" a heading of its own. */
function releaseChanges(changelog: string, version: string, date: string): string {
  const [before = '', after] = changelog.split(unreleased)
  if (after === undefined || /^\s*(## |$)/.test(after)) {
    throw new Error('CHANGELOG.md has no text below "## [Unreleased]". Say there what the release changes.')
  }
  return `${before}${unreleased}\n## [${version}] - ${date}\n${after}`
}

/** Changes a file in the form that npm writes. */
async function changeJson<T>(file: string, change: (content: T) => void): Promise<void> {
  const content: T = JSON.parse(await readFile(file, 'utf8'))
  change(content)
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`)
}

if (import.meta.main) {
  const program = new Command('npm run release:version --')
    .description('Give the packages and the changelog the version of the next release.')
    .argument('<version>', 'the version of the release, such as 1.2.0')
    .option('--sdk <version>', 'the new version of the SDK, if it has changed')
    .action(async (release: string, options: { sdk?: string }) => {
      await setVersion(root, { release, ...options }, new Date().toISOString().slice(0, 10))
      // The client of file sync contains its version.
      await writeBundles()
      console.log(`This is ${release} now. Look at it with "git diff", and commit it.`)
    })
  try {
    await program.parseAsync()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}

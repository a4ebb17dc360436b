/** `npm run pack [FOLDER]`: writes the packages as tarballs into a folder. Default: `dist`. */
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { root, runTool } from '../run/command.ts'
import { tarballsVariable } from '../run/run-folder.ts'
import type { Package } from '../walls/packages.ts'
import { buildWorkspaces, workspaces } from './build.ts'
import { buildStamp } from './build-stamp.ts'
import { publishedManifest } from './published-manifest.ts'
import { publishedReadme } from './published-readme.ts'

/**
 * Builds every workspace and packs it as it is published, examples included. It works in a temporary folder, so it changes
 * nothing in the repository, and several calls can run at a time.
 *
 * @param folder receives the tarballs; it is created if it does not exist
 * @returns the path of each tarball by the name of its package
 */
export async function packWorkspaces(folder: string): Promise<Map<string, string>> {
  const staged = await mkdtemp(join(tmpdir(), 'nodekeep-pack-'))
  try {
    await mkdir(folder, { recursive: true })
    for (const inner of ['', ...workspaces().map((entry) => entry.folder)]) await linkLibraries(inner, staged)
    // One after the other: after a failure, nothing writes into the folder that is removed.
    for (const entry of workspaces()) await stage(entry, join(staged, entry.folder))
    await buildWorkspaces(staged)
    await pack(staged, folder)
    return tarballsIn(folder)
  } finally {
    await rm(staged, { recursive: true, force: true })
  }
}

/**
 * The tarballs for a test: those of this run of all tests, or else tarballs that are packed now.
 *
 * @param folder receives tarballs that are packed now
 */
export async function packedForTest(folder: string): Promise<Map<string, string>> {
  const shared = process.env[tarballsVariable]
  return shared === undefined ? packWorkspaces(folder) : tarballsIn(shared)
}

/** Lets the compiler find the libraries that the built declarations import. */
async function linkLibraries(folder: string, staged: string): Promise<void> {
  const libraries = join(root, folder, 'node_modules')
  if (!existsSync(libraries)) return
  await mkdir(join(staged, folder), { recursive: true })
  await symlink(libraries, join(staged, folder, 'node_modules'), 'junction')
}

/**
 * Copies the files that a package publishes beside its built files: its own, the license, for the kernel the presets, and for
 * the SDK and the scaffold the examples.
 */
async function stage({ kind, folder, manifest }: Package, staged: string): Promise<void> {
  await mkdir(staged, { recursive: true })
  const published = publishedManifest(manifest, kind === 'kernel' ? await buildStamp() : undefined)
  await writeFile(join(staged, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  for (const part of ['LICENSE', ...(manifest.files ?? [])]) {
    const own = join(root, folder, part)
    const [top = ''] = part.split('/')
    const shared = ['LICENSE', 'config', 'examples'].includes(top) ? join(root, part) : own
    const from = existsSync(own) ? own : shared
    if (part === 'dist' || !existsSync(from)) continue
    await cp(from, join(staged, part), { recursive: true, filter: (source) => !notPublished.test(source) })
  }
  const readme = join(staged, 'README.md')
  const hasExamples = manifest.files?.includes('examples') === true
  await writeFile(readme, publishedReadme(await readFile(readme, 'utf8'), hasExamples))
}

/** Libraries and built files of the examples, and the recipes for a checkout. */
const notPublished = /[\\/]examples[\\/](deploy|[^\\/]+[\\/](node_modules|dist))$/

async function pack(staged: string, folder: string): Promise<void> {
  const folders = workspaces().map((entry) => join(staged, entry.folder))
  const { ok, output } = await runTool('npm', ['pack', ...folders, '--pack-destination', folder, '--silent'])
  if (!ok) throw new Error(`The packages could not be packed:\n${output}`)
}

/** The paths of the tarballs in a folder, by the names of their packages. */
export function tarballsIn(folder: string): Map<string, string> {
  return new Map(
    workspaces().map(({ manifest: { name, version } }) => [
      name,
      join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`),
    ]),
  )
}

if (import.meta.main) {
  const tarballs = await packWorkspaces(resolve(process.argv[2] ?? join(root, 'dist')))
  for (const tarball of tarballs.values()) console.log(tarball)
}

/** `npm run pack [FOLDER]`: the tarballs that `npm publish` takes, in a folder; `dist` when none is named. */
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { root, runTool } from '../run/command.ts'
import type { Package } from '../walls/packages.ts'
import { buildWorkspaces, workspaces } from './build.ts'
import { publishedManifest } from './published-manifest.ts'

/**
 * Builds every workspace and packs it as it is published, examples included. It works in a temporary folder, so
 * that nothing in the repository is touched and several can run at once.
 *
 * @param folder where the tarballs go; it is made when it does not exist
 * @returns the path of each tarball by the name of its package
 */
export async function packWorkspaces(folder: string): Promise<Map<string, string>> {
  const staged = await mkdtemp(join(tmpdir(), 'nodekeep-pack-'))
  try {
    await mkdir(folder, { recursive: true })
    for (const inner of ['', ...workspaces().map((entry) => entry.folder)]) await linkLibraries(inner, staged)
    await buildWorkspaces(staged)
    const tarballs = new Map<string, string>()
    for (const entry of workspaces()) {
      await stage(entry, join(staged, entry.folder))
      tarballs.set(entry.manifest.name, await pack(entry, join(staged, entry.folder), folder))
    }
    return tarballs
  } finally {
    await rm(staged, { recursive: true, force: true })
  }
}

/** Lets the compiler find the libraries that the built declarations speak of. */
async function linkLibraries(folder: string, staged: string): Promise<void> {
  const libraries = join(root, folder, 'node_modules')
  if (!existsSync(libraries)) return
  await mkdir(join(staged, folder), { recursive: true })
  await symlink(libraries, join(staged, folder, 'node_modules'), 'junction')
}

async function stage({ folder, manifest }: Package, staged: string): Promise<void> {
  await writeFile(join(staged, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`)
  await cp(join(root, 'LICENSE'), join(staged, 'LICENSE'))
  for (const part of manifest.files ?? []) {
    const from = join(root, folder, part)
    if (part !== 'dist' && existsSync(from)) await cp(from, join(staged, part), { recursive: true })
  }
}

async function pack({ manifest }: Package, staged: string, folder: string): Promise<string> {
  const { ok, output } = await runTool('npm', ['pack', staged, '--pack-destination', folder, '--silent'])
  if (!ok) throw new Error(`${manifest.name} could not be packed:\n${output}`)
  return join(folder, `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`)
}

if (import.meta.main) {
  const tarballs = await packWorkspaces(resolve(process.argv[2] ?? join(root, 'dist')))
  for (const tarball of tarballs.values()) console.log(tarball)
}

import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packedForTest } from '../release/pack.ts'
import { root } from '../run/command.ts'
import { run } from './terminal.ts'

/** A folder outside the repository, and our packages as they would be published. */
export interface Outside {
  readonly folder: string
  /** Paths of the tarballs by the names of the packages. */
  readonly tarballs: ReadonlyMap<string, string>
}

/** A temporary folder, which goes with the test, and all workspaces packed. */
export async function packOutside(t: Test): Promise<Outside> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-outside-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  t.teardown(remove)
  try {
    return { folder, tarballs: await packedForTest(join(folder, 'packed')) }
  } catch (error) {
    // A test file that ends before its first test is not torn down.
    await remove()
    throw error
  }
}

/** What somebody installed who runs a node with plugins of others. */
export interface Installation {
  readonly folder: string
  /** Copies the sources of an example beside it, as its author has them, and answers where. */
  copyExample(name: string): Promise<string>
}

/** Installs packages in an empty folder, by their tarballs. */
export async function installPackages(outside: Outside, names: readonly string[]): Promise<Installation> {
  const folder = join(outside.folder, 'place')
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const tarballs = names.map((name) => tarball(outside, name)).join(' ')
  await run(folder, `npm install --prefer-offline --no-audit --no-fund ${tarballs}`)
  return {
    folder,
    async copyExample(name) {
      const copy = join(folder, name)
      await cp(join(root, 'examples', name), copy, {
        recursive: true,
        filter: (source) => !/[\\/](node_modules|dist)$/.test(source),
      })
      return copy
    },
  }
}

/** What `npm install` has to be told instead of the name of a package that is not published yet. */
export function tarball({ tarballs }: Outside, name: string): string {
  const path = tarballs.get(name)
  if (path === undefined) throw new Error(`There is no tarball of ${name}.`)
  return path
}

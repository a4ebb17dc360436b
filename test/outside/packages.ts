import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packedForTest } from '../release/pack.ts'

/** A folder outside the repository, and our packages in their published form. */
export interface Outside {
  readonly folder: string
  /** Paths of the tarballs by the names of the packages. */
  readonly tarballs: ReadonlyMap<string, string>
}

/** Packs all workspaces into a temporary folder, which is removed when the test ends. */
export async function packOutside(t: Test): Promise<Outside> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-outside-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  t.teardown(remove)
  try {
    return { folder, tarballs: await packedForTest(join(folder, 'packed')) }
  } catch (error) {
    // tap does not tear down a test file that ends before its first test.
    await remove()
    throw error
  }
}

/** Returns the argument of `npm install` for a package that is not published yet. */
export function tarball({ tarballs }: Outside, name: string): string {
  const path = tarballs.get(name)
  if (path === undefined) throw new Error(`There is no tarball of ${name}.`)
  return path
}

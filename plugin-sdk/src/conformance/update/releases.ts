import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Release, UpdateSource } from '../../contracts/update.ts'
import type { ReleaseFile } from '../../supervision/release-file.ts'
import type { PublishedRelease } from './subject.ts'

/** A signal that never aborts. */
export const never: AbortSignal = new AbortController().signal

/** Makes a release for this machine. */
export function releaseOf(version: string): PublishedRelease {
  const described: ReleaseFile = {
    version,
    platform: `${process.platform}-${process.arch}`,
    commit: null,
    buildDate: '2026-01-02T03:04:05.000Z',
    node: process.versions.node,
    sdk: '0.1.0',
    schema: [],
  }
  const files = {
    'bin/nodekeep': `#!/bin/sh\necho ${version}\n`,
    'node_modules/a/index.js': 'export default 1\n'.repeat(20_000),
    'release.json': JSON.stringify(described),
  }
  return { version, notes: notesOf(version), files }
}

export function notesOf(version: string): string {
  return `## ${version}\n\n- Grüße, and "quotes".\n`
}

/** Finds the newest release, which must be there. */
export async function newest(source: UpdateSource): Promise<Release> {
  const found = await source.latest('1.0.0', never)
  assert.ok(found, 'The published release was not found.')
  return found
}

/** Makes an empty folder for a download. */
export async function emptyFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'nodekeep-release-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

/** Returns the texts of all files below a folder, by their paths in alphabetical order. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const names = await readdir(folder, { recursive: true })
  for (const name of names.sort()) {
    const path = join(folder, name)
    if ((await stat(path)).isFile()) found[name.replaceAll('\\', '/')] = await readFile(path, 'utf8')
  }
  return found
}

/** Windows knows no programs by their mode. */
export async function isExecutable(path: string): Promise<boolean> {
  if (process.platform === 'win32') return path.includes('bin')
  return ((await stat(path)).mode & 0o100) !== 0
}

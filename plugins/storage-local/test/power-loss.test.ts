import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { createPowerCutDisk, type PowerCutDisk } from './fixtures/power-cut-disk.ts'
import { chunks, contentsOf, folderInMemory, leftovers } from './fixtures/storage-folder.ts'

type Change = (backend: StorageBackend) => Promise<unknown>

const overwrite = { overwrite: true }
const keepReplacedAt = '/kept/user/name'
const changes: Record<string, Change> = {
  'a new file': (backend) => backend.write('/user/folder/new', chunks('new', ' file')),
  'an overwritten file': (backend) => backend.write('/user/folder/file', chunks('other')),
  'a file in new folders': (backend) => backend.write('/user/a/b/c', chunks('deep')),
  'a file where none may be': (backend) => backend.write('/user/free', chunks('x'), { ifAbsent: true }),
  'a file of a new user': (backend) => backend.write('/another/file', chunks('x')),
  'new folders': (backend) => backend.makeDirectory('/user/a/b'),
  'a removed file': (backend) => backend.remove('/user/folder/file'),
  'a removed version of a file': async (backend) => {
    const { revision } = await backend.stat('/user/folder/file')
    await backend.remove('/user/folder/file', { ifRevision: revision })
  },
  'a removed empty folder': (backend) => backend.remove('/user/empty', { onlyIfEmpty: true }),
  'a removed folder': (backend) => backend.remove('/user/folder'),
  'a moved file': async (backend) => backend.move?.('/user/folder/file', '/user/moved'),
  'a file moved into new folders': async (backend) => backend.move?.('/user/folder/file', '/user/a/b'),
  'a file moved over another': async (backend) =>
    backend.move?.('/user/other', '/user/folder/file', overwrite),
  'a moved folder': async (backend) => backend.move?.('/user/folder', '/user/empty/moved'),
  'a folder moved over another': async (backend) => backend.move?.('/user/second', '/user/folder', overwrite),
  'a file moved over a folder': async (backend) => backend.move?.('/user/other', '/user/folder', overwrite),
}

/** Changes that keep what they replace. */
const keepingChanges: Record<string, Change> = {
  'an overwritten file that is kept': (backend) =>
    backend.write('/user/folder/file', chunks('other'), { keepReplacedAt: '/user/empty/kept' }),
  'an overwritten file that is kept in new folders': (backend) =>
    backend.write('/user/folder/file', chunks('other'), { keepReplacedAt }),
  'a file moved over another that is kept': async (backend) =>
    backend.move?.('/user/other', '/user/folder/file', { ...overwrite, keepReplacedAt }),
  'a folder moved over another that is kept': async (backend) =>
    backend.move?.('/user/second', '/user/folder', { ...overwrite, keepReplacedAt }),
  'a file moved over a folder that is kept': async (backend) =>
    backend.move?.('/user/other', '/user/folder', { ...overwrite, keepReplacedAt }),
  'a folder moved over a file that is kept': async (backend) =>
    backend.move?.('/user/second', '/user/other', { ...overwrite, keepReplacedAt }),
}

/** The parent folders that a change makes, outermost first. They may stay, empty, after a power failure in between. */
const madeParents: Record<string, readonly string[]> = {
  'a file in new folders': ['/user/a', '/user/a/b'],
  'a file of a new user': ['/another'],
  'new folders': ['/user/a'],
  'a file moved into new folders': ['/user/a'],
  ...Object.fromEntries(Object.keys(keepingChanges).map((name) => [name, ['/kept', '/kept/user']])),
}

for (const [name, change] of Object.entries({ ...changes, ...keepingChanges })) {
  t.test(`${name}: a power failure at any step keeps all of the change or none of it`, async (t) => {
    const { before, after } = await outcomes(t, change)
    for (let step = 0; ; step += 1) {
      const { answered, disk } = await cutDuring(t, change, step)
      const states = [
        ['synced only', copyOf(t, (folder) => disk.copySynced(folder))],
        ...[0, 0.5, 1].map((share) => [
          `ordered, ${share}`,
          copyOf(t, (folder) => disk.copyOrdered(folder, share)),
        ]),
      ] as const
      disk.release()
      for (const [state, folder] of states) {
        const found = await contentsAfterReopening(folder as string)
        const where = `${name}, cut at step ${step}, ${state}`
        if (answered) t.strictSame(found, after, `the change was answered, so it is stored: ${where}`)
        else {
          const possible = possibleStates(before, after, madeParents[name] ?? [])
          const kept = Object.entries(after).filter(([path]) => path.includes('kept'))
          // The replaced file or folder may be at both paths.
          const both = { ...before, ...Object.fromEntries(kept) }
          assertOneOf(t, found, [...possible, both], where)
        }
      }
      if (answered) return
    }
  })
}

t.test('a stored file survives a power failure in folders that another program has just made', async (t) => {
  const root = preparedRoot(t)
  const disk = createPowerCutDisk(root)
  const backend = await openLocalBackend({ root, disk })
  mkdirSync(join(root, 'user', 'foreign', 'inner'), { recursive: true })
  await backend.write('/user/foreign/inner/file', chunks('kept'))
  const found = await contentsAfterReopening(copyOf(t, (folder) => disk.copySynced(folder)))
  t.equal(found['/user/foreign/inner/file'], 'kept')
  disk.release()
  await backend.close()
})

/**
 * Returns the states that a change may leave: not begun, begun with some of its parent folders made, or done. On a file
 * system that keeps no order between folders, a moved file may be at both paths, and is always at one or both.
 */
function possibleStates(before: object, after: object, parents: readonly string[]): object[] {
  const begun = parents.map((_, index) => ({
    ...before,
    ...Object.fromEntries(parents.slice(0, index + 1).map((path) => [path, null])),
  }))
  return [before, ...begun, after, { ...before, ...after }]
}

function assertOneOf(t: Test, found: object, states: readonly object[], where: string): void {
  const text = JSON.stringify(sorted(found))
  t.ok(
    states.some((state) => JSON.stringify(sorted(state)) === text),
    where,
    { found, states },
  )
}

function sorted(state: object): [string, unknown][] {
  return Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))
}

async function outcomes(t: Test, change: Change) {
  const root = preparedRoot(t)
  const before = contentsOf(root)
  const backend = await openLocalBackend({ root })
  await change(backend)
  const after = contentsOf(root)
  await backend.close()
  return { before, after }
}

/** Makes a root with some files. */
function preparedRoot(t: Test): string {
  const root = folderInMemory(t)
  for (const folder of ['folder/inner', 'second', 'empty'])
    mkdirSync(join(root, 'user', folder), { recursive: true })
  for (const file of ['folder/file', 'folder/inner/file', 'other', 'second/file']) {
    writeFileSync(join(root, 'user', file), `text of ${file}`)
  }
  return root
}

async function cutDuring(
  t: Test,
  change: Change,
  step: number,
): Promise<{ answered: boolean; disk: PowerCutDisk }> {
  const root = preparedRoot(t)
  const disk = createPowerCutDisk(root)
  const backend = await openLocalBackend({ root, disk })
  disk.cutAt(disk.steps + step)
  const answered = await change(backend).then(
    () => true,
    () => false,
  )
  await backend.close()
  return { answered, disk }
}

function copyOf(t: Test, write: (folder: string) => void): string {
  const folder = join(folderInMemory(t), 'copy')
  write(folder)
  return folder
}

/** The outcomes of {@link contentsAfterReopening}, by all that was in the folder. */
const reopened = new Map<string, Record<string, string | null>>()

/** Returns the files after a start on a folder. Of four folders, three have what an earlier one had. */
async function contentsAfterReopening(root: string): Promise<Record<string, string | null>> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name)
    return [path.slice(root.length), entry.isDirectory() ? null : readFileSync(path, 'latin1')] as const
  })
  const before = JSON.stringify(sorted(Object.fromEntries(entries)))
  const known = reopened.get(before)
  if (known !== undefined) return known
  const backend = await openLocalBackend({ root })
  await backend.close()
  if (leftovers(root).length > 0) throw new Error(`Left behind: ${leftovers(root).join(', ')}`)
  const after = contentsOf(root)
  reopened.set(before, after)
  return after
}

// In a process of its own: it replaces a function of node:fs/promises.
import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { FolderWatch } from '../../src/watch-folder/folder-watch.ts'

const { lstat, readdir } = fsPromises

/** Looks at paths that have begun, and wait for the test. */
const held = new Map<string, () => void>()
const holding = new Set<string>()

/** Holds the next look at a path. */
const hold = (path: string) => holding.add(path)

/** Waits until a look at a path is held. */
async function isHeld(path: string): Promise<void> {
  while (!held.has(path)) await delay(5)
}

/** Lets the look at a path go on, and waits for what follows at once. */
async function release(path: string): Promise<void> {
  held.get(path)?.()
  held.delete(path)
  await delay(50)
}

/** Folders that were listed, and paths that were looked at. */
const read: string[] = []

const slowLstat = async (path: string) => {
  read.push(path)
  if (holding.delete(path)) await new Promise<void>((resolve) => held.set(path, resolve))
  return lstat(path)
}
const countedReaddir = async (path: string, options: { withFileTypes: true }) => {
  read.push(path)
  return readdir(path, options)
}
Object.assign(fsPromises, { lstat: slowLstat, readdir: countedReaddir })
syncBuiltinESMExports()

/** Watches a folder. Returns the paths that are told. */
async function watched(t: Test, root: string): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  const watch = new FolderWatch({
    root,
    onChange: (paths) => {
      for (const path of paths) seen.add(path)
    },
    onUsedUp: t.fail,
  })
  t.teardown(() => watch.end())
  await watch.begin()
  return seen
}

t.test('a folder that comes and goes while it is looked through leaves no watch behind', async (t) => {
  const base = t.testdir({ root: {}, away: { below: {} }, other: { below: {} } })
  const root = join(base, 'root')
  const folder = join(root, 'folder')
  const below = join(folder, 'below')
  const away = join(base, 'away')
  const seen = await watched(t, root)
  hold(below)
  renameSync(away, folder)
  await isHeld(below)
  renameSync(folder, away)
  await delay(100)
  hold(folder)
  renameSync(away, folder)
  await isHeld(folder)
  await release(below)
  renameSync(folder, away)
  await delay(100)
  await release(folder)
  renameSync(join(base, 'other'), folder)
  for (let round = 0; round < 50 && !seen.has('folder/below/file'); round += 1) {
    writeFileSync(join(below, 'file'), 'a')
    await delay(20)
  }
  t.ok(seen.has('folder/below/file'), 'another folder that takes its path is watched')
})

t.test('changes of files make nobody list their folder or look at the other files', async (t) => {
  const names = Array.from({ length: 100 }, (_, n) => `${n}`)
  const root = t.testdir({ folder: Object.fromEntries(names.map((name) => [name, ''])) })
  const last = Promise.withResolvers<void>()
  const onChange = (paths: readonly string[]) => paths.includes('folder/99') && last.resolve()
  const watch = new FolderWatch({ root, onChange, onUsedUp: t.fail })
  t.teardown(() => watch.end())
  read.length = 0
  await watch.begin()
  t.strictSame(
    new Set(read),
    new Set([root, join(root, 'folder')]),
    'the folders alone are read at the begin',
  )
  read.length = 0
  for (const name of names) {
    writeFileSync(join(root, 'folder', name), 'changed')
    await delay(1)
  }
  await last.promise
  t.strictSame(read, [])
})

t.test('changes are never told of a folder that has gone while its watch began', async (t) => {
  const root = t.testdir()
  const seen = await watched(t, root)
  // The steps of a watch take a turn of the event loop each, so the folder goes between any two of them.
  for (let number = 0; number < 300; number += 1) {
    const folder = join(root, `gone${number}`)
    mkdirSync(folder)
    for (let turn = 0; turn < number % 30; turn += 1) await setImmediate()
    rmdirSync(folder)
  }
  for (const name of ['first', 'last']) {
    writeFileSync(join(root, name), '')
    while (!seen.has(name)) await delay(5)
  }
  // The events of a folder itself have its name.
  const ofGone = [...seen].map((path) => /^(gone\d+)\W(.+)$/.exec(path)).filter((found) => found !== null)
  t.strictSame(
    ofGone.filter(([, folder, name]) => folder !== name).map(([path]) => path),
    [],
  )
})

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { watchFolder } from '../src/watch-folder.ts'

/** Watches a folder with the folders `photos/old` and `own`, which is left out, and more. */
async function watched(t: Test, more: Record<string, { file: string }> = {}) {
  const root = t.testdir({ photos: { old: {} }, own: {}, ...more })
  const at = (path: string) => join(root, path)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const seen = new Set<string>()
  await watchFolder({
    root,
    except: at('own'),
    onChange: (paths) => {
      for (const path of paths) seen.add(path)
    },
    onFailure: t.fail,
    signal: ending.signal,
  })
  /** Waits until a path was told. */
  const told = async (path: string) => {
    while (!seen.has(path)) await delay(5)
    t.pass(path)
  }
  return { root, at, seen, told, ending }
}

t.test('changes of files and folders are told, at any depth', async (t) => {
  const { at, seen, told } = await watched(t)
  writeFileSync(at('photos/old/a.jpg'), 'a')
  await told('photos/old/a.jpg')
  writeFileSync(at('own/state'), 'a')
  symlinkSync(at('own'), at('photos/link'))
  writeFileSync(at('photos/link/state'), 'b')
  seen.clear()
  rmSync(at('photos/old'), { recursive: true })
  await told('photos/old')
  t.notOk(
    [...seen].find((path) => path.includes('state')),
    'neither of the folder that is left out nor behind a link',
  )
})

t.test('a new folder is told once it is watched, with the folders that came with it', async (t) => {
  const { at, seen, told } = await watched(t)
  mkdirSync(at('new/and/deep'), { recursive: true })
  while (true) {
    writeFileSync(at('new/and/deep/file'), 'a')
    await delay(20)
    if (seen.has('new/and/deep/file')) break
  }
  await told('new')
})

t.test('a folder that takes the path of another one at once is watched', async (t) => {
  const { at, seen } = await watched(t)
  // Nobody can look at the folder between these three.
  renameSync(at('photos'), at('other'))
  mkdirSync(at('photos'))
  renameSync(at('other'), at('photos/2025'))
  const shows = async (path: string) => {
    seen.clear()
    // The watch may not have begun yet.
    while (!seen.has(path)) {
      writeFileSync(at(path), 'new')
      await delay(20)
    }
    t.pass(path)
  }
  await shows('photos/new')
  await shows('photos/2025/new')
  await shows('photos/2025/old/new')
})

t.test(
  'a folder that is removed and made again is watched, although it may have the same inode',
  async (t) => {
    const { at, seen } = await watched(t)
    for (let round = 0; round < 20; round += 1) {
      rmSync(at('photos'), { recursive: true })
      mkdirSync(at('photos'))
    }
    while (!seen.has('photos/new')) {
      writeFileSync(at('photos/new'), 'new')
      await delay(20)
    }
    t.pass('it is told')
  },
)

t.test('so many changes at once that the system drops some are told as a change of everything', async (t) => {
  const { at, told, seen } = await watched(t)
  const kept = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  writeFileSync(at('photos/a'), '')
  // Each one makes two events, which wait until this turn of the event loop is over.
  for (let count = 0; count < kept; count += 2) {
    renameSync(at('photos/a'), at('photos/b'))
    renameSync(at('photos/b'), at('photos/a'))
  }
  mkdirSync(at('dropped'))
  await told('')
  while (!seen.has('dropped/file')) {
    writeFileSync(at('dropped/file'), 'a')
    await delay(20)
  }
  t.pass('a folder of which nothing was told is watched')
})

t.test('each folder takes one watch of the system, and files take none', async (t) => {
  const root = t.testdir()
  for (let folder = 0; folder < 100; folder += 1) {
    mkdirSync(join(root, `${folder % 10}/${folder}`), { recursive: true })
    for (let file = 0; file < 10; file += 1) writeFileSync(join(root, `${folder % 10}/${folder}/${file}`), '')
  }
  // A watch of the test before may be ending.
  while (prioritiesOf('watch of files').length > 0) await delay(5)
  const before = watches()
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  await watchFolder({ root, onChange: () => {}, onFailure: t.fail, signal: ending.signal })
  t.equal(watches() - before, 111)
  t.strictSame(prioritiesOf('watch of files'), ['19'], 'the thread has the lowest priority')
})

t.test('all files of a flood of new folders are in what is told', async (t) => {
  const root = t.testdir({ photos: {} })
  const at = (path: string) => join(root, path)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const found = new Set<string>()
  const onChange = (paths: readonly string[]) => {
    for (const path of paths) for (const file of filesIn(root, path)) found.add(file)
  }
  await watchFolder({ root, onChange, onFailure: t.fail, signal: ending.signal })
  const folders = Array.from({ length: 200 }, (_, n) => `photos/${n % 5}/${n % 20}/${n}`)
  for (const folder of folders) {
    mkdirSync(at(folder), { recursive: true })
    writeFileSync(at(`${folder}/first`), '')
  }
  const missing = () => folders.filter((folder) => !found.has(`${folder}/first`))
  while (missing().length > 0) await delay(10)
  t.pass('also those that were there before the watch of their folder')
  found.clear()
  while (missing().length > 0) {
    // A folder may be watched a moment after its files were found.
    for (const folder of missing()) writeFileSync(at(`${folder}/first`), 'changed')
    await delay(100)
  }
  t.pass('and each folder is watched')
})

t.test('folders may have any name, and a setting for development tools changes nothing', async (t) => {
  process.env.CHOKIDAR_USEPOLLING = '1'
  t.teardown(() => delete process.env.CHOKIDAR_USEPOLLING)
  const names = ['back\\slash', '*', '[a-c]', '~', '.a.swp', ' ']
  const { at, told } = await watched(t, Object.fromEntries(names.map((name) => [name, { file: '' }])))
  for (const name of names) writeFileSync(at(`${name}/file`), 'changed')
  for (const name of names) await told(`${name}/file`)
})

t.test('nothing is told after the end', async (t) => {
  const { root, at, seen, ending } = await watched(t)
  writeFileSync(at('photos/a'), 'a')
  ending.abort()
  const later = Promise.withResolvers<void>()
  const other = new AbortController()
  t.teardown(() => other.abort())
  const onChange = (paths: readonly string[]) => paths.includes('photos/b') && later.resolve()
  await watchFolder({ root, onChange, onFailure: t.fail, signal: other.signal })
  writeFileSync(at('photos/b'), 'b')
  await later.promise
  t.strictSame([...seen], [])
})

/** The watches of this process (`proc_pid_fdinfo(5)`). */
function watches(): number {
  let count = 0
  for (const descriptor of readdirSync('/proc/self/fdinfo')) {
    try {
      count += readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8').split('\ninotify wd:').length - 1
    } catch {
      // The one of the folder itself is closed.
    }
  }
  return count
}

/** The nice values of the threads of this process with a name (`proc_pid_stat(5)`). */
function prioritiesOf(name: string): (string | undefined)[] {
  return readdirSync('/proc/self/task').flatMap((id) => {
    const [, comm, rest = ''] = /^\d+ \((.*)\) (.*)/.exec(statOf(id)) ?? []
    return comm === name ? [rest.split(' ')[16]] : []
  })
}

/** The status line of a thread of this process; empty if it has ended. */
function statOf(id: string): string {
  try {
    return readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/** The files at a path and below it. */
function* filesIn(root: string, path: string): Iterable<string> {
  const stats = statSync(join(root, path), { throwIfNoEntry: false })
  if (stats?.isFile()) yield path
  if (stats?.isDirectory())
    for (const name of readdirSync(join(root, path))) yield* filesIn(root, join(path, name))
}

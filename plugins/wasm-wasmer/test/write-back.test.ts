import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, Files, type FilesService, type UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { copyIn } from '../src/folders/copy-in.ts'
import { writeBack } from '../src/folders/write-back.ts'

let service: FilesService | undefined
const peek = definePlugin({
  id: 'peek',
  requires: { files: Files },
  setup: ({ files }) => {
    service = files
  },
})
const plugins = { files: true, 'storage-local': true }
const node = await createTestNode({ folder: import.meta.dirname, config: { plugins }, plugins: [peek] })
t.teardown(() => node.stop())

const bounds = { memoryBytes: 0, outputBytes: 0, folderBytes: 2 ** 20, folderEntries: 100 }

/** What a program changed in `/w`: contents by path, null for a folder. */
interface Changes {
  readonly removed?: readonly string[]
  readonly stored?: Readonly<Record<string, string | null>>
}

t.test('what somebody else changed meanwhile stays as it is, and nothing else is changed', async (t) => {
  const moved = { removed: ['a'], stored: { b: 'old' } }
  const cases: readonly (readonly [string, Changes, (files: UserFiles) => Promise<unknown>])[] = [
    ['a file that the program changed', { stored: { a: 'mine' } }, (files) => put(files, 'a', 'theirs')],
    ['a file that the program removed', { removed: ['a'] }, (files) => put(files, 'a', 'theirs')],
    ['a file where the program moved one', moved, (files) => put(files, 'b', 'theirs')],
    ['a folder where the program moved a file', moved, (files) => files.makeDirectory('/w/b')],
    ['a file where the program made a folder', { stored: { b: null } }, (files) => put(files, 'b', 'theirs')],
    ['a file in a folder that is gone', { removed: ['d', 'd/x'] }, (files) => put(files, 'd/x', 'theirs')],
    [
      'a new one in a folder that is gone',
      { removed: ['d', 'd/x'] },
      (files) => put(files, 'd/new', 'theirs'),
    ],
    [
      'a new folder in a folder that moved',
      { removed: ['d', 'd/x'], stored: { e: null, 'e/x': 'inner' } },
      (files) => files.makeDirectory('/w/d/new'),
    ],
    [
      'a file that the program changed, and is gone',
      { stored: { a: 'mine' } },
      (files) => files.remove('/w/a'),
    ],
    ['a new file in a folder that is gone', { stored: { 'd/y': 'mine' } }, (files) => files.remove('/w/d')],
    [
      'a new folder below one that was moved away',
      { stored: { 'd/e': null, 'd/e/y': 'mine' } },
      (files) => files.move('/w/d', '/w/f'),
    ],
    [
      'a new file in a folder that became a file',
      { stored: { 'd/y': 'mine' } },
      async (files) => {
        await files.remove('/w/d')
        await put(files, 'd', 'theirs')
      },
    ],
  ]
  for (const [what, changes, meanwhile] of cases) {
    const { files, end } = await begin()
    await meanwhile(files)
    const before = await all(files)
    await t.rejects(
      end({ ...changes, stored: { new: 'new', ...changes.stored } }),
      {
        code: 'PRECONDITION_FAILED',
        message: /exit code 7, but none of its changes was stored: "\/w\/.*" was changed by another party/,
      },
      what,
    )
    t.strictSame(await all(files), before, what)
  }
})

t.test('what somebody else changes in the very moment is not lost either', async (t) => {
  const { files, end } = await begin()
  const racing = { ...files, write: racer(files, () => put(files, 'd/new', 'theirs')) }
  const changes = { removed: ['d', 'd/x'], stored: { e: null, 'e/x': 'inner' } }
  await t.rejects(end(changes, racing), { code: 'UNPROCESSABLE', message: /not all of its changes/ })
  t.match(await all(files), { '/w/d/new': 'theirs', '/w/e/x': 'inner' })

  const other = await begin()
  const full = { ...other.files, write: () => Promise.reject(new Error('full')) }
  await t.rejects(other.end({ removed: ['a'], stored: { b: 'old' } }, full), { message: 'full' })
  t.match(await all(other.files), { '/w/a': 'old' }, 'it is stored before the other one goes')
})

t.test('a folder that is gone as a whole, or was moved away, is not made anew', async (t) => {
  const meanwhile: readonly ((files: UserFiles) => Promise<unknown>)[] = [
    (files) => files.remove('/w'),
    (files) => files.move('/w', '/v'),
  ]
  for (const happens of meanwhile) {
    for (const changes of [{ stored: { new: 'new' } }, { stored: { n: null } }, { removed: ['a'] }]) {
      const { files, end } = await begin()
      await happens(files)
      const message = 'none of its changes was stored: "/w" was changed by another party meanwhile.'
      await t.rejects(end(changes), { code: 'PRECONDITION_FAILED', message: new RegExp(message) })
      await t.rejects(files.stat('/w'), { code: 'NOT_FOUND' })
      await files.makeDirectory('/w')
      await end({}, files)
    }
  }
})

t.test('what is gone already is gone', async (t) => {
  const { files, end } = await begin()
  await files.remove('/w/a')
  await files.remove('/w/d')
  await end({ removed: ['a', 'd', 'd/x'], stored: { result: 'r' } })
  t.strictSame(await all(files), { '/w/result': 'r' })
})

t.test('files take the place of folders, and the other way round', async (t) => {
  const { files, end } = await begin()
  await end({ removed: ['a', 'd', 'd/x'], stored: { a: null, 'a/y': 'y', d: 'file' } })
  t.strictSame(await all(files), { '/w/a': null, '/w/a/y': 'y', '/w/d': 'file' })
})

t.test('a path that the files do not take is found before anything is changed', async (t) => {
  const { files, end } = await begin()
  const before = await all(files)
  await t.rejects(end({ stored: { good: 'g', [`${'x/'.repeat(2500)}y`]: 'y' } }), {
    code: 'UNPROCESSABLE',
    message: /exit code 7, but none of its changes was stored: .* longer than 4096/,
  })
  t.strictSame(await all(files), before)
})

/** Somebody whose folder `/w` a program was given: a file `a`, and `x` in the folder `d`. */
async function begin() {
  const { user } = await node.signIn()
  const files = service?.for(user)
  if (files === undefined) throw new Error('There are no files.')
  await put(files, 'a', 'old')
  await put(files, 'd/x', 'inner')
  const preopen = { files, path: '/w', guestPath: '/data', writable: true }
  const { revisions } = await copyIn([preopen], bounds, new AbortController().signal)
  const end = ({ removed = [], stored = {} }: Changes, through = files) => {
    const entries = Object.entries(stored).map(([path, content]) => ({
      path,
      content: content === null ? null : Buffer.from(content),
    }))
    const [known = new Map()] = revisions
    const folder = { preopen: { ...preopen, files: through }, revisions: known, removed, stored: entries }
    return writeBack([folder], 7)
  }
  return { files, end }
}

/** Writes as the files do, after something else has happened. */
function racer(files: UserFiles, first: () => Promise<unknown>): UserFiles['write'] {
  return async (...args) => {
    await first()
    return files.write(...args)
  }
}

async function put(files: UserFiles, path: string, content: string): Promise<void> {
  await files.write(
    `/w/${path}`,
    (async function* () {
      yield Buffer.from(content)
    })(),
  )
}

/** What is in a folder: contents of files by path, null for folders. */
async function all(files: UserFiles, folder = '/w'): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  for await (const { path, type } of files.list(folder)) {
    if (type === 'directory') Object.assign(found, { [path]: null }, await all(files, path))
    else {
      const chunks = await Array.fromAsync((await files.read(path)).content)
      found[path] = Buffer.concat(chunks).toString()
    }
  }
  return found
}

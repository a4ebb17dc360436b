import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, Files, type FilesService, NodekeepError, type UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { copyIn } from '../src/folders/copy-in.ts'
import { writeBack } from '../src/folders/write-back.ts'
import { DeepFiles } from './fixtures/deep-files.ts'

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

const neverAborted = new AbortController().signal
const bounds = { memoryBytes: 0, outputBytes: 0, folderBytes: 2 ** 20, folderEntries: 100 }

/** The changes of a program in `/w`: contents by path, null for a folder. */
interface Changes {
  readonly removed?: readonly string[]
  readonly stored?: Readonly<Record<string, string | null>>
}

t.test('a program that conflicts with a change of another party stores nothing', async (t) => {
  const moved = { removed: ['a'], stored: { b: 'old' } }
  const cases: readonly (readonly [string, Changes, (files: UserFiles) => Promise<unknown>])[] = [
    ['a file that the program changed', { stored: { a: 'program' } }, (files) => put(files, 'a', 'other')],
    ['a file that the program removed', { removed: ['a'] }, (files) => put(files, 'a', 'other')],
    ['a file where the program moved one', moved, (files) => put(files, 'b', 'other')],
    ['a folder where the program moved a file', moved, (files) => files.makeDirectory('/w/b')],
    ['a file where the program made a folder', { stored: { b: null } }, (files) => put(files, 'b', 'other')],
    [
      'a file in a folder that the program removed',
      { removed: ['d', 'd/x'] },
      (files) => put(files, 'd/x', 'other'),
    ],
    [
      'a new file in a folder that the program removed',
      { removed: ['d', 'd/x'] },
      (files) => put(files, 'd/new', 'other'),
    ],
    [
      'a new folder in a folder that the program moved',
      { removed: ['d', 'd/x'], stored: { e: null, 'e/x': 'inner' } },
      (files) => files.makeDirectory('/w/d/new'),
    ],
    [
      'a removed file that the program changed',
      { stored: { a: 'program' } },
      (files) => files.remove('/w/a'),
    ],
    [
      'a new file of the program in a removed folder',
      { stored: { 'd/y': 'program' } },
      (files) => files.remove('/w/d'),
    ],
    [
      'a new folder of the program below a moved folder',
      { stored: { 'd/e': null, 'd/e/y': 'program' } },
      (files) => files.move('/w/d', '/w/f'),
    ],
    [
      'a new file of the program in a folder that became a file',
      { stored: { 'd/y': 'program' } },
      async (files) => {
        await files.remove('/w/d')
        await put(files, 'd', 'other')
      },
    ],
  ]
  for (const [what, changes, change] of cases) {
    const { files, end } = await begin()
    await change(files)
    const before = await entriesOf(files)
    await t.rejects(
      end({ ...changes, stored: { new: 'new', ...changes.stored } }),
      {
        code: 'PRECONDITION_FAILED',
        message: /exit code 7, but none of its changes was stored: "\/w\/.*" was changed by another party/,
      },
      what,
    )
    t.strictSame(await entriesOf(files), before, what)
  }
})

t.test('a change of another party during the write-back is not lost', async (t) => {
  const { files, end } = await begin()
  const concurrent = { ...files, write: writeAfter(files, () => put(files, 'd/new', 'other')) }
  const changes = { removed: ['d', 'd/x'], stored: { e: null, 'e/x': 'inner' } }
  await t.rejects(end(changes, concurrent), {
    code: 'UNPROCESSABLE',
    message: /not all of its changes/,
  })
  t.match(await entriesOf(files), { '/w/d/new': 'other', '/w/e/x': 'inner' })

  const other = await begin()
  const full = { ...other.files, write: () => Promise.reject(new Error('full')) }
  await t.rejects(other.end({ removed: ['a'], stored: { b: 'old' } }, full), { message: 'full' })
  t.match(
    await entriesOf(other.files),
    { '/w/a': 'old' },
    'the old file is removed only after the new one is stored',
  )
})

t.test('a folder that was removed or moved is not created again', async (t) => {
  const foreignChanges: readonly ((files: UserFiles) => Promise<unknown>)[] = [
    (files) => files.remove('/w'),
    (files) => files.move('/w', '/v'),
  ]
  for (const change of foreignChanges) {
    for (const changes of [{ stored: { new: 'new' } }, { stored: { n: null } }, { removed: ['a'] }]) {
      const { files, end } = await begin()
      await change(files)
      const message = 'none of its changes was stored: "/w" was changed by another party meanwhile.'
      await t.rejects(end(changes), { code: 'PRECONDITION_FAILED', message: new RegExp(message) })
      await t.rejects(files.stat('/w'), { code: 'NOT_FOUND' })
      await files.makeDirectory('/w')
      await end({}, files)
    }
  }
})

t.test('a program can remove entries that another party has removed', async (t) => {
  const { files, end } = await begin()
  await files.remove('/w/a')
  await files.remove('/w/d')
  await end({ removed: ['a', 'd', 'd/x'], stored: { result: 'r' } })
  t.strictSame(await entriesOf(files), { '/w/result': 'r' })
})

t.test('files can replace folders, and folders can replace files', async (t) => {
  const { files, end } = await begin()
  await end({ removed: ['a', 'd', 'd/x'], stored: { a: null, 'a/y': 'y', d: 'file' } })
  t.strictSame(await entriesOf(files), { '/w/a': null, '/w/a/y': 'y', '/w/d': 'file' })
})

t.test('an invalid path is found before anything changes', async (t) => {
  const { files, end } = await begin()
  const before = await entriesOf(files)
  await t.rejects(end({ stored: { good: 'g', [`${'x/'.repeat(2500)}y`]: 'y' } }), {
    code: 'UNPROCESSABLE',
    message: /exit code 7, but none of its changes was stored: .* longer than 4096/,
  })
  t.strictSame(await entriesOf(files), before)
})

t.test('storing the changes in a deep folder takes a time that grows with their number only', async (t) => {
  const { files } = new DeepFiles(0, 0)
  const preopen = { files, path: '/', guestPath: '/data', writable: true }
  const modified = new Date(0)
  const deep = Array.from({ length: 2000 }, (_, level) => `f${'/d'.repeat(level)}`)
  const stored = [
    ...deep.map((path) => ({ path, content: null, modified })),
    ...Array.from({ length: 3000 }, (_, file) => ({
      path: `${deep.at(-1)}/${file}`,
      content: Buffer.alloc(0),
      modified,
    })),
  ]
  const began = performance.now()
  await writeBack([{ preopen, revisions: new Map([['f', 'r']]), removed: ['f'], stored }], 0, neverAborted)
  const ms = performance.now() - began
  t.ok(ms < 3000, `it took ${Math.round(ms)} ms`)
  t.equal((await files.stat(`/${deep.at(-1)}/2999`)).type, 'file')
})

t.test(
  'the time limit ends the search for changes of other parties, and nothing is stored then',
  async (t) => {
    const { files, end } = await begin()
    const before = await entriesOf(files)
    const late = AbortSignal.abort(new NodekeepError('UNPROCESSABLE', 'The time limit was reached.'))
    await t.rejects(end({ stored: { a: 'program', b: 'new' } }, files, late), {
      code: 'UNPROCESSABLE',
      message: /exit code 7, but none of its changes was stored: The time limit was reached/,
    })
    t.strictSame(await entriesOf(files), before)
  },
)

/** Gives a program the folder `/w` of a new user, with a file `a`, and `x` in the folder `d`. */
async function begin() {
  const { user } = await node.signIn()
  const files = service?.for(user)
  if (files === undefined) throw new Error('There are no files.')
  await put(files, 'a', 'old')
  await put(files, 'd/x', 'inner')
  const preopen = { files, path: '/w', guestPath: '/data', writable: true }
  const { copies } = await copyIn([preopen], bounds, neverAborted)
  const end = ({ removed = [], stored = {} }: Changes, through = files, late = neverAborted) => {
    const entries = Object.entries(stored).map(([path, content]) => ({
      path,
      content: content === null ? null : Buffer.from(content),
      modified: new Date(),
    }))
    const revisions = copies[0]?.revisions ?? new Map()
    const folder = { preopen: { ...preopen, files: through }, revisions, removed, stored: entries }
    return writeBack([folder], 7, late)
  }
  return { files, end }
}

/** Returns a write that first runs another change. */
function writeAfter(files: UserFiles, first: () => Promise<unknown>): UserFiles['write'] {
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

/** Returns the entries of a folder: contents of files by path, null for folders. */
async function entriesOf(files: UserFiles, folder = '/w'): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  for await (const { path, type } of files.list(folder)) {
    if (type === 'directory') Object.assign(found, { [path]: null }, await entriesOf(files, path))
    else {
      const chunks = await Array.fromAsync((await files.read(path)).content)
      found[path] = Buffer.concat(chunks).toString()
    }
  }
  return found
}

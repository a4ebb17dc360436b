import type { FileEntry, UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { copyIn } from '../src/folders/copy-in.ts'
import { DeepFiles } from './fixtures/deep-files.ts'
import { program } from './fixtures/programs.ts'
import { createRuntime } from './fixtures/wasmer-stand.ts'

const neverAborted = new AbortController().signal
const bounds = { memoryBytes: 0, outputBytes: 0, folderBytes: 2 ** 20, folderEntries: 10_000 }

t.test('copying a deep folder in costs about as much as copying a flat one', async (t) => {
  const { files } = new DeepFiles(2000, 3000)
  const preopen = { files, path: '/', guestPath: '/data', writable: true }
  const began = performance.now()
  const { copies } = await copyIn([preopen], bounds, neverAborted)
  const ms = performance.now() - began
  t.ok(ms < 2000, `it took ${Math.round(ms)} ms`)
  const [copy] = copies
  const entries = copy?.folder.entries ?? []
  t.equal(entries.length, 5000)
  t.strictSame(entries.at(-1), { parent: 1999, name: '2999', size: 0, modified: 0 })
  t.equal(copy?.paths.at(-1), `${'d/'.repeat(2000)}2999`)
  t.ok(JSON.stringify(copy?.folder).length < 500_000, 'the sandbox gets no long path for each entry')
})

t.test('other work goes on while files are copied in that are there without waiting', async (t) => {
  const { files } = new DeepFiles(1, 9000)
  const slow: UserFiles = {
    ...files,
    read: (path) => {
      const until = performance.now() + 0.05
      while (performance.now() < until);
      return files.read(path)
    },
  }
  let turns = 0
  const interval = setInterval(() => {
    turns += 1
  }, 1)
  await copyIn([{ files: slow, path: '/', guestPath: '/data', writable: false }], bounds, neverAborted)
  clearInterval(interval)
  t.ok(turns > 5, `the event loop turned ${turns} times`)
})

t.test('copying in has the time limit of the run, and ends when the client leaves', async (t) => {
  const fixture = createRuntime(t)
  const hanging = preopenOf(async function* () {
    await new Promise(() => {})
  })
  await t.rejects(fixture.run(program('(nop)'), { preopens: [hanging], timeoutMs: 100 }), {
    code: 'UNPROCESSABLE',
    message: 'The time limit of 100 ms was reached.',
  })
  await t.rejects(
    fixture.run(program('(nop)'), { preopens: [hanging], signal: AbortSignal.abort(new Error('It left.')) }),
    { message: 'It left.' },
    'a run that was aborted before it began copies nothing',
  )
  let listed = 0
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  const endless = preopenOf(async function* () {
    for (;;) {
      listed += 1
      if (listed === 10) resolve()
      yield await folder(`f${listed}`)
    }
  })
  const leaving = new AbortController()
  const run = createRuntime(t, { folderEntries: Number.MAX_SAFE_INTEGER }).run(program('(nop)'), {
    preopens: [endless],
    signal: leaving.signal,
  })
  await begun
  leaving.abort(new Error('The client left.'))
  await t.rejects(run, { message: 'The client left.' })
  const listedThen = listed
  await new Promise(setImmediate)
  t.equal(listed, listedThen, 'nothing is listed any more')
})

function preopenOf(list: () => AsyncIterable<FileEntry>) {
  return { files: { list } as unknown as UserFiles, path: '/', guestPath: '/data', writable: false }
}

async function folder(name: string): Promise<FileEntry> {
  await new Promise(setImmediate)
  const date = new Date(0)
  return { path: `/${name}`, name, type: 'directory', size: 0, modified: date, created: date, revision: '' }
}

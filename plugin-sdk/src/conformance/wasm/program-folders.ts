import assert from 'node:assert/strict'
import { assertFails } from './assertions.ts'
import { PaperFiles } from './paper-files.ts'
import * as samples from './program-samples.ts'
import { type ProgramStart, run, textOf } from './running.ts'
import type { ProgramRuntime, WasmCheck } from './subject.ts'

export function programFolderChecks(check: WasmCheck<ProgramRuntime>): void {
  check(
    'a program reads the folders that it was given, under the names that they have there',
    async (runtime) => {
      const long = 'abc'.repeat(50_000)
      const files = new PaperFiles({
        '/notes/a.txt': 'of notes',
        '/notes/deep/b.txt': long,
        '/photos/größe': '',
      })
      const preopens = [
        { guestPath: '/data', files, path: '/notes', writable: false },
        { guestPath: '/pictures/all', files, path: '/photos', writable: true },
      ]
      assert.deepEqual(await act(runtime, ['r', '/data/a.txt'], preopens), { text: 'of notes', exitCode: 0 })
      assert.deepEqual(await act(runtime, ['r', '/data/deep/b.txt'], preopens), { text: long, exitCode: 0 })
      assert.deepEqual(await act(runtime, ['r', '/pictures/all/größe'], preopens), { text: '', exitCode: 0 })
      const missing = await act(runtime, ['r', '/data/c.txt'], preopens)
      assert.notEqual(missing.exitCode, 0, 'what is not there can not be read')
    },
  )

  check('a program changes nothing in a folder that it may only read', async (runtime) => {
    const files = new PaperFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: false }]
    for (const args of [
      ['w', '/data/a.txt', 'new'],
      ['w', '/data/b.txt', 'new'],
      ['d', '/data/a.txt'],
    ]) {
      const { exitCode } = await act(runtime, args, preopens)
      assert.notEqual(exitCode, 0, `${args.join(' ')} fails, for it has no effect`)
      assert.deepEqual([...files.contents.keys()], ['/notes/a.txt'])
      assert.equal(files.text('/notes/a.txt'), 'old')
    }
  })

  check('what a program changes in a writable folder is there afterwards', async (runtime) => {
    const files = new PaperFiles({
      '/notes/a.txt': 'a long old text',
      '/notes/b.txt': 'b',
      '/other/a.txt': 'other',
    })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    for (const args of [
      ['w', '/data/a.txt', 'new'],
      ['w', '/data/größe', ''],
      ['d', '/data/b.txt'],
    ]) {
      assert.deepEqual(await act(runtime, args, preopens), { text: '', exitCode: 0 }, args.join(' '))
    }
    assert.deepEqual([...files.contents.keys()].sort(), ['/notes/a.txt', '/notes/größe', '/other/a.txt'])
    assert.equal(files.text('/notes/a.txt'), 'new')
    assert.equal(files.text('/notes/größe'), '')
    assert.equal(files.text('/other/a.txt'), 'other')
  })

  check('what a program changed that did not end by itself is not kept', async (runtime) => {
    const files = new PaperFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const attempt = run(runtime, samples.files, { args: ['x', '/data/a.txt', 'new'], preopens })
    await assertFails(attempt, 'UNPROCESSABLE', 'a trap')
    assert.equal(files.text('/notes/a.txt'), 'old')
  })

  check('a program reaches nothing outside its folders', async (runtime) => {
    const files = new PaperFiles({ '/notes/a.txt': 'a', '/secret.txt': 'secret', '/other/b.txt': 'secret' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const up = '../'.repeat(30)
    const outside = [
      ['r', '/data/../secret.txt'],
      ['r', '/data/../other/b.txt'],
      ['r', '/secret.txt'],
      ['r', '/notes/a.txt'],
      ['r', '/etc/passwd'],
      ['r', `/data/${up}etc/passwd`],
      ['r', `/data/${up}proc/self/environ`],
      ['s', '/data/link1', '../secret.txt'],
      ['s', '/data/link2', `${up}etc/passwd`],
      ['s', '/data/link3', '/etc/passwd'],
      ['s', '/data/link4', '/proc/self/environ'],
    ]
    for (const args of outside) {
      const { text } = await act(runtime, args, preopens)
      assert.equal(text, '', args.join(' '))
    }
    await act(runtime, ['w', '/data/../escaped.txt', 'x'], preopens)
    assert.equal(files.text('/escaped.txt'), undefined)
  })
}

async function act(
  runtime: ProgramRuntime,
  args: readonly string[],
  preopens: NonNullable<ProgramStart['preopens']>,
): Promise<{ readonly text: string; readonly exitCode: number }> {
  const { stdout, exitCode } = await run(runtime, samples.files, { args, preopens }, { outputBytes: 2 ** 20 })
  return { text: textOf(stdout), exitCode }
}

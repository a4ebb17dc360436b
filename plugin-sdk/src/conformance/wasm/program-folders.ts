import assert from 'node:assert/strict'
import type { ProgramRuntime } from '../../contracts/wasm.ts'
import { assertFails } from './assertions.ts'
import { fileCommands } from './file-commands.ts'
import { InMemoryFiles } from './in-memory-files.ts'
import { type ProgramStart, run, textOf } from './running.ts'
import type { WasmCheck } from './subject.ts'

export function programFolderChecks(check: WasmCheck<ProgramRuntime>): void {
  check(
    'a program reads the folders that it was given, under the names that they have there',
    async (runtime) => {
      const long = 'abc'.repeat(50_000)
      const files = new InMemoryFiles({ '/notes/a.txt': 'of notes', '/notes/deep/b.txt': long })
      const others = new InMemoryFiles({ '/photos/größe': 'of photos' })
      const preopens = [
        { guestPath: '/data', files, path: '/notes', writable: false },
        { guestPath: '/pictures/all', files: others, path: '/photos', writable: true },
      ]
      const [missing, ...found] = await act(runtime, preopens, [
        ['r', '/data/c.txt'],
        ['r', '/data/a.txt'],
        ['r', '/data/deep/b.txt'],
        ['r', '/pictures/all/größe'],
      ])
      assert.notEqual(missing?.errno, 0, 'what is not there cannot be read')
      assert.deepEqual(found, [
        { text: 'of notes', errno: 0 },
        { text: long, errno: 0 },
        { text: 'of photos', errno: 0 },
      ])
    },
  )

  check('a program changes nothing in a folder that it may only read', async (runtime) => {
    const files = new InMemoryFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: false }]
    const commands: Command[] = [
      ['w', '/data/a.txt', 'new'],
      ['w', '/data/b.txt', 'new'],
      ['d', '/data/a.txt'],
    ]
    const results = await act(runtime, preopens, commands)
    for (const [index, command] of commands.entries()) {
      assert.notEqual(results[index]?.errno, 0, `${command.join(' ')} fails, for it has no effect`)
    }
    assert.deepEqual([...files.contents.keys()], ['/notes/a.txt'])
    assert.equal(files.text('/notes/a.txt'), 'old')
  })

  check('what a program changes in a writable folder is there afterwards', async (runtime) => {
    const files = new InMemoryFiles({
      '/notes/a.txt': 'a long old text',
      '/notes/b.txt': 'b',
      '/notes/deep/c.txt': 'c',
      '/other/a.txt': 'other',
    })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const done = { text: '', errno: 0 }
    // Each by a program of its own: what is made with nothing in it may be all that changed.
    const commands: Command[] = [
      ['w', '/data/a.txt', 'new'],
      ['w', '/data/größe', ''],
      ['w', '/data/deep/d.txt', 'd'],
    ]
    for (const command of commands) assert.deepEqual(await act(runtime, preopens, [command]), [done])
    const next = await act(runtime, preopens, [
      ['r', '/data/a.txt'],
      ['d', '/data/b.txt'],
    ])
    assert.deepEqual(next, [{ text: 'new', errno: 0 }, done])
    assert.deepEqual([...files.contents.keys()].sort(), [
      '/notes/a.txt',
      '/notes/deep/c.txt',
      '/notes/deep/d.txt',
      '/notes/größe',
      '/other/a.txt',
    ])
    assert.equal(files.text('/notes/a.txt'), 'new')
    assert.equal(files.text('/notes/größe'), '')
    assert.equal(files.text('/notes/deep/d.txt'), 'd')
    assert.equal(files.text('/other/a.txt'), 'other')
  })

  check('a program can remove a folder that was there before, if it is empty', async (runtime) => {
    const files = new InMemoryFiles({ '/notes/a.txt': 'a', '/notes/full/b.txt': 'b' })
    await files.makeDirectory('/notes/old')
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    // Each is the first call of the program for its path.
    const [full, file, missing, old] = await act(runtime, preopens, [
      ['k', '/data/full'],
      ['k', '/data/a.txt'],
      ['k', '/data/missing'],
      ['k', '/data/old'],
    ])
    assert.equal(full?.errno, notEmpty, 'a folder that is not empty stays')
    assert.notEqual(file?.errno, 0, 'a file is no folder')
    assert.notEqual(missing?.errno, 0, 'nothing cannot be removed')
    assert.equal(old?.errno, 0, 'an empty folder is removed')
    await assert.rejects(files.stat('/notes/old'), { code: 'NOT_FOUND' })
    assert.deepEqual([...files.contents.keys()], ['/notes/a.txt', '/notes/full/b.txt'])
  })

  check('a program that removes files while it lists them gets each of them once', async (runtime) => {
    const names = Array.from({ length: 60 }, (_, index) => `file${index}`).sort()
    const files = new InMemoryFiles(Object.fromEntries(names.map((name) => [`/notes/many/${name}`, name])))
    files.put('/notes/kept.txt', 'kept')
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const [listed, removed] = await act(runtime, preopens, [
      ['p', '/data/many'],
      ['k', '/data/many'],
    ])
    assert.equal(listed?.errno, 0)
    assert.deepEqual(listed.text.split('/').slice(0, -1).sort(), names)
    assert.equal(removed?.errno, 0, 'the folder is empty')
    assert.deepEqual([...files.contents.keys()], ['/notes/kept.txt'])
  })

  check('files have their times, and a time that a program sets is stored or refused', async (runtime) => {
    const [first, second] = [new Date('2020-02-03T04:05:06Z'), new Date('2021-03-04T05:06:07Z')]
    const files = new InMemoryFiles()
    files.put('/notes/a.txt', 'a', first)
    files.put('/notes/b.txt', 'b', first)
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const [before, set, after, , written] = await act(runtime, preopens, [
      ['t', '/data/a.txt'],
      ['u', '/data/a.txt', digitsOf(second)],
      ['t', '/data/a.txt'],
      ['w', '/data/b.txt', 'new'],
      ['t', '/data/b.txt'],
    ])
    assert.equal(before?.text, digitsOf(first), 'a file has its time')
    const expected = set?.errno === 0 ? second : first
    assert.equal(after?.text, digitsOf(expected), 'the program sees the time that it set')
    assert.equal((await files.stat('/notes/a.txt')).modified.getTime(), expected.getTime(), 'it is stored')
    assert.ok((written?.text ?? '') > digitsOf(second), 'a file that was written has a new time')
  })

  check('standard input and output are no terminals', async (runtime) => {
    const preopens = [{ guestPath: '/data', files: new InMemoryFiles(), path: '/', writable: false }]
    const [types] = await act(runtime, preopens, [['f', '/data/none']])
    assert.equal(types?.errno, 0)
    assert.equal(types.text.length, 3)
    // Programs take character devices for terminals.
    assert.ok(!types.text.includes('c'), `the types are ${types.text}`)
  })

  check('what a program changed that did not end by itself is not kept', async (runtime) => {
    const files = new InMemoryFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const start = (what: string) => ({ args: [what, '/data/a.txt', 'new'], preopens })
    await assertFails(run(runtime, fileCommands, start('x')), 'UNPROCESSABLE', 'a trap')
    assert.equal(files.text('/notes/a.txt'), 'old', 'after a trap')
    const stopped = run(runtime, fileCommands, start('l'), { timeoutMs: 700 })
    await assertFails(stopped, 'UNPROCESSABLE', 'a loop')
    assert.equal(files.text('/notes/a.txt'), 'old', 'after the time limit')
  })

  check('what a program changed that exits with another code than 0 is kept', async (runtime) => {
    const files = new InMemoryFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const { exitCode } = await run(runtime, fileCommands, { args: ['e', '/data/a.txt', 'new'], preopens })
    assert.equal(exitCode, 3)
    assert.equal(files.text('/notes/a.txt'), 'new')
  })

  check('a program reaches nothing outside its folders', async (runtime) => {
    const files = new InMemoryFiles({
      '/notes/a.txt': 'a',
      '/secret.txt': 'secret',
      '/other/b.txt': 'secret',
    })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const up = '../'.repeat(30)
    const commands: Command[] = [
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
    const results = await act(runtime, preopens, commands)
    for (const [index, command] of commands.entries()) {
      assert.equal(results[index]?.text, '', command.join(' '))
    }
    // Apart from the links, for which a runtime might refuse to keep anything.
    await act(runtime, preopens, [['w', '/data/../escaped.txt', 'x']])
    assert.equal(files.text('/escaped.txt'), undefined)
  })
}

/** The errno of WASI for a folder that is not empty. */
const notEmpty = 55

/** A time as the sample writes it: nanoseconds in 16 digits from `a` to `p`. */
function digitsOf(time: Date): string {
  const hex = (BigInt(time.getTime()) * 1_000_000n).toString(16).padStart(16, '0')
  return hex.replace(/./g, (digit) => 'abcdefghijklmnop'.charAt(Number.parseInt(digit, 16)))
}

/** A command of the sample: its letter, a file, and a text. */
type Command = readonly [
  what: 'r' | 'w' | 'd' | 's' | 'k' | 'p' | 't' | 'u' | 'f',
  path: string,
  text?: string,
]

/** Has the commands done by one program, and answers what it printed at each, and the errno of WASI. */
async function act(
  runtime: ProgramRuntime,
  preopens: NonNullable<ProgramStart['preopens']>,
  commands: readonly Command[],
): Promise<{ readonly text: string; readonly errno: number | undefined }[]> {
  const args = commands.flatMap(([what, path, text = '']) => [what, path, text])
  const limits = { outputBytes: 2 ** 20 }
  const { stdout, exitCode } = await run(runtime, fileCommands, { args, preopens }, limits)
  assert.equal(exitCode, 0, 'a program that ends by itself has the exit code 0')
  const output = Buffer.from(stdout)
  let at = 0
  return commands.map(() => {
    const end = output.indexOf(0, at)
    assert.ok(end >= 0, 'the program does all that it is told')
    const result = { text: textOf(output.subarray(at, end)), errno: output[end + 1] }
    at = end + 2
    return result
  })
}

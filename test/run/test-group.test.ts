import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'tap'
import { root } from './command.ts'
import { groupFiles } from './test-group.ts'
import { runGroup } from './test-process.ts'

const tap = import.meta.resolve('tap')

test('files of a folder share a process, but for those that cannot', async (t) => {
  const folder = relative(root, t.testdir())
  await mkdir(join(root, folder, 'b'))
  const write = async (name: string, text: string) => {
    await writeFile(join(root, folder, name), text)
    return join(folder, name)
  }
  const one = await write('one.test.ts', "import t from 'tap'\n")
  const other = await write('other.test.ts', "import t from 'tap'\n")
  const below = await write('b/one.test.ts', '')
  const timed = await write('timed.test.ts', "import t from 'tap'\nt.setTimeout(1)\n")
  const parallel = await write('parallel.test.ts', 't.jobs = 3\n')
  const foreign = await write('foreign.test.ts', "import { test } from 'node:test'\n")
  const said = await write('said.test.ts', '// In a process of its own: it counts its children.\n')
  t.strictSame(await groupFiles([one, timed, below, parallel, foreign, said, other]), [
    [one, other],
    [timed],
    [below],
    [parallel],
    [foreign],
    [said],
  ])
})

test('tests of processes are not put together, and no group is long', async (t) => {
  const own = ['test/run/budget.test.ts', 'test/run/count-tests.test.ts']
  t.strictSame(
    await groupFiles(own),
    own.map((file) => [file]),
  )
  const folder = relative(root, t.testdir())
  const many = Array.from({ length: 30 }, (_, n) => join(folder, `${n}.test.ts`))
  for (const file of many) await writeFile(join(root, file), '')
  const lengths = (await groupFiles(many)).map(({ length }) => length)
  t.strictSame(lengths, [12, 12, 6])
})

test('each file of a group has its own counts', async (t) => {
  const folder = relative(root, t.testdir())
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const start = `import t from '${tap}'\n`
  await writeFile(
    join(root, files[0]),
    `${start}t.test('a', async (t) => { await t.test('b', async () => {}); await t.test('c', async (t) => t.skip()) })\n`,
  )
  await writeFile(join(root, files[1]), `${start}t.ok(true)\nt.equal(process.env.TEST_FILES, undefined)\n`)
  const { results } = await runGroup(files, {})
  t.match(results, [
    { file: files[0], ok: true, passed: 1, failed: 0, skipped: 1, skippedTests: [/one\.mjs > a > c/] },
    { file: files[1], ok: true, passed: 1, failed: 0, skipped: 0 },
  ])
})

test('a failure in a group stays one: a test that fails, a file that cannot be loaded, a process that ends early', async (t) => {
  const start = `import t from '${tap}'\n`
  const passed = { ok: true, passed: 1, failed: 0 }
  const failed = { ok: false, passed: 0, failed: 1 }
  for (const [name, text, after] of [
    ['failing', `${start}t.test('a', async (t) => t.ok(false))\n`, passed],
    ['broken', `${start}throw new Error('not today')\n`, passed],
    [
      'escaping',
      `${start}t.test('a', async () => { setImmediate(() => { throw new Error('lost') }); await new Promise(() => {}) })\n`,
      failed,
    ],
    ['leaving', 'process.exit(0)\n', failed],
  ] as const) {
    const folder = relative(root, t.testdir())
    const files: [string, string, string] = [
      join(folder, 'before.mjs'),
      join(folder, `${name}.mjs`),
      join(folder, 'after.mjs'),
    ]
    const fine = `${start}t.test('b', async (t) => t.ok(true))\n`
    await writeFile(join(root, files[0]), fine)
    await writeFile(join(root, files[1]), text)
    await writeFile(join(root, files[2]), fine)
    const { results, complaint } = await runGroup(files, {})
    t.match(results, [
      { file: files[0], ...passed },
      { file: files[1], ...failed },
      { file: files[2], ...after },
    ])
    t.match(complaint, files[1])
  }
})

test('what fails after the last test of a group fails the group', async (t) => {
  const folder = relative(root, t.testdir())
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const text = (more: string) => `import t from '${tap}'\nt.test('a', async (t) => t.ok(true))\n${more}`
  await writeFile(join(root, files[0]), text("process.once('exit', () => { process.exitCode = 7 })\n"))
  await writeFile(join(root, files[1]), text(''))
  const { results, complaint } = await runGroup(files, {})
  t.match(results, [
    { file: files[0], ok: false, failed: 1 },
    { file: files[1], ok: true },
  ])
  t.match(complaint, /ended with code 7/)
})

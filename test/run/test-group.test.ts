import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'tap'
import { readRecord } from './budget.ts'
import { root } from './command.ts'
import { findTestFiles } from './test-files.ts'
import { groupFiles } from './test-group.ts'
import { runGroup } from './test-process.ts'

test('files of a part share a process, but for those that cannot', async (t) => {
  const folder = relative(root, t.testdir())
  await mkdir(join(root, folder, 'b'))
  const write = async (name: string, text: string) => {
    await writeFile(join(root, folder, name), text)
    return join(folder, name)
  }
  const one = await write('one.test.ts', "import t from 'tap'\n")
  const below = await write('b/one.test.ts', '')
  const jobs = await write('jobs.test.ts', "import t from 'tap'\nt.jobs = 3\n")
  const mocking = await write('mocking.test.ts', "import { mock } from 'node:test'\n")
  const foreign = await write('foreign.test.ts', "import { test } from 'node:test'\n")
  const said = await write('said.test.ts', '// In a process of its own: it counts its children.\n')
  t.strictSame(await groupFiles([one, foreign, jobs, below, said, mocking]), [
    [one, jobs, below, mocking],
    [foreign],
    [said],
  ])
  const own = ['test/run/budget.test.ts', 'test/run/count-tests.test.ts']
  t.strictSame(
    await groupFiles(own),
    own.map((file) => [file]),
  )
  const across = await findTestFiles(['test/contract'])
  t.ok(across.length > 1)
  t.strictSame(await groupFiles(across), [across])
})

test('a large part is divided into groups of the same time, and small parts are joined', async (t) => {
  const small = ['plugins/ai-ollama/test', 'plugins/ai-openai/test']
  const files = await findTestFiles(['kernel/test', ...small])
  const record = await readRecord()
  const groups = await groupFiles(files)
  t.strictSame(groups.flat().sort(), files)
  t.match(groups[0], [/^kernel/])
  const all = files.filter((file) => file.startsWith('kernel')).length
  const ofKernel = groups.filter(([first, second]) => first.startsWith('kernel') && second !== undefined)
  const seconds = ofKernel.map(({ length }) => (length * (record.get('kernel/test') ?? 0)) / all)
  t.ok(ofKernel.length > 1)
  t.ok(Math.max(...seconds) < 62, `${seconds}`)
  t.ok(Math.min(...seconds) > Math.max(...seconds) / 2, `${seconds}`)
  const joined = groups.filter((group) => group.some((file) => !file.startsWith('kernel')))
  for (const part of small) t.ok(joined[0]?.some((file) => file.startsWith(part)))
  t.equal(joined.length, 1)
})

test('each file of a group has its own counts', async (t) => {
  const folder = relative(root, t.testdir())
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const start = `import t from 'tap'\n`
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
  const start = `import t from 'tap'\n`
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

test('a file of a group that leaves its process changed has failed', async (t) => {
  const folder = relative(root, t.testdir())
  for (const [left, text] of [
    ['the variable TEST_LEFT', "process.env.TEST_LEFT = '1'"],
    ['the working directory', "process.chdir('test')"],
    ['the listeners of SIGHUP', "process.on('SIGHUP', () => {})"],
    ['setTimeout', 'globalThis.setTimeout = globalThis.setTimeout.bind(null)'],
  ]) {
    const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
    await writeFile(
      join(root, files[0]),
      `import t from 'tap'\nt.test('a', async (t) => { ${text}; t.pass() })\n`,
    )
    await writeFile(join(root, files[1]), "import t from 'tap'\nt.test('b', async (t) => { t.pass() })\n")
    const { results, tap } = await runGroup(files, {})
    t.match(results, [
      { file: files[0], ok: false, passed: 1, failed: 1 },
      { file: files[1], ok: true, passed: 1, failed: 0 },
    ])
    t.match(tap, new RegExp(`notRestored:\\s+- ${left}\\n`))
  }
})

test('teardowns and jobs of a file are its own', async (t) => {
  const folder = relative(root, t.testdir())
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const start = "import t, { test } from 'tap'\n"
  await writeFile(
    join(root, files[0]),
    `${start}t.jobs = 2
    t.teardown(async () => { globalThis.ended = true })
    const { promise, resolve } = Promise.withResolvers()
    test('a', async (t) => { await promise; t.notOk(globalThis.ended) })
    test('b', async (t) => { resolve(); t.notOk(globalThis.ended) })\n`,
  )
  await writeFile(
    join(root, files[1]),
    `${start}test('c', async (t) => { t.equal(globalThis.ended, true); t.equal(t.jobs, 1) })\n`,
  )
  const { results } = await runGroup(files, {})
  t.match(results, [
    { file: files[0], ok: true, passed: 2 },
    { file: files[1], ok: true, passed: 1 },
  ])
})

test('the folder of a test is there until its teardowns have run, in a group and alone', async (t) => {
  const folder = relative(root, t.testdir())
  const text = `import { existsSync } from 'node:fs'
    import t from 'tap'
    t.test('a', async (t) => {
      const folder = t.testdir()
      t.teardown(async () => {
        await new Promise(setImmediate)
        if (!existsSync(folder)) throw new Error('The folder is gone.')
      })
      t.pass()
    })\n`
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  for (const file of files) await writeFile(join(root, file), text)
  const passed = { ok: true, passed: 1, failed: 0 }
  t.match((await runGroup(files, {})).results, [passed, passed])
  t.match((await runGroup([files[0]], {})).results, [passed])
})

test('what fails after the last test of a group fails the group', async (t) => {
  const folder = relative(root, t.testdir())
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const text = (more: string) => `import t from 'tap'\nt.test('a', async (t) => t.ok(true))\n${more}`
  await writeFile(join(root, files[0]), text("process.once('exit', () => { process.exitCode = 7 })\n"))
  await writeFile(join(root, files[1]), text(''))
  const { results, complaint } = await runGroup(files, {})
  t.match(results, [
    { file: files[0], ok: false, failed: 1 },
    { file: files[1], ok: true },
  ])
  t.match(complaint, /ended with code 7/)
})

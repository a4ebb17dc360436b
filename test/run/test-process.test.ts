import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { runGroup } from './test-process.ts'

const tap = import.meta.resolve('tap')

test('a test file ends with what it found', async (t) => {
  const folder = t.testdir()
  const passing = join(folder, 'passing.mjs')
  await writeFile(passing, `import t from '${tap}'\nt.test('one', async (t) => t.ok(true))\n`)
  const { results } = await runGroup([passing], {})
  t.match(results, [{ ok: true, passed: 1, failed: 0, skipped: 0 }])

  const failing = join(folder, 'failing.mjs')
  await writeFile(failing, `import t from '${tap}'\nt.test('two', async (t) => t.ok(false))\n`)
  const failed = await runGroup([failing], {})
  t.match(failed, { results: [{ ok: false, passed: 0, failed: 1 }], tap: /not ok/ })
})

test('an error that escapes from a test fails its file, and is shown', async (t) => {
  for (const lost of ['setImmediate(() => { throw error })', 'void Promise.reject(error)']) {
    const file = join(t.testdir(), 'escaping.mjs')
    const lines = [
      `import t from '${tap}'`,
      `const error = new Error('nobody awaits this')`,
      `t.test('waits', async () => { ${lost}; await new Promise((resolve) => setTimeout(resolve, 60_000)) })`,
    ]
    await writeFile(file, lines.join('\n'))
    const { results, complaint } = await runGroup([file], {})
    t.match(results, [{ ok: false, failed: 1 }], lost)
    t.match(complaint, /nobody awaits this/, lost)
  }
})

test('a test that waits for ever is named and ended, and one that blocks its process is killed', async (t) => {
  const hanging = {
    waits: 'const timer = setInterval(() => {}, 60_000); await new Promise(() => {})',
    blocks: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  }
  const folder = t.testdir()
  const run = async (name: keyof typeof hanging) => {
    const file = join(folder, `${name}.mjs`)
    await writeFile(file, `import t from '${tap}'\nt.test('${name}', async () => { ${hanging[name]} })\n`)
    return runGroup([file], {}, 15_000)
  }
  const [waits, blocks] = await Promise.all([run('waits'), run('blocks')])
  t.match(waits, { results: [{ ok: false }], tap: /timeout![\s\S]*\nnot ok 1 - waits/, complaint: /SIGALRM/ })
  t.match(blocks, { results: [{ ok: false }], complaint: /SIGALRM/ })
})

test('the CPU time of a test has that of the processes that it starts, and of those that they start', async (t) => {
  const folder = t.testdir()
  const path = (name: string) => join(folder, name)
  const start = "import { execFileSync } from 'node:child_process'\n"
  const scripts = {
    'grandchild.mjs': `import { pbkdf2Sync } from 'node:crypto'
      import { writeFileSync } from 'node:fs'
      pbkdf2Sync('', '', 1_000_000, 64, 'sha512')
      writeFileSync('${path('microseconds')}', String(process.cpuUsage().user))`,
    'child.mjs': `${start}execFileSync(process.execPath, ['${path('grandchild.mjs')}'])`,
    'test.mjs': `import t from '${tap}'\n${start}execFileSync(process.execPath, ['${path('child.mjs')}'])\nt.ok(true)`,
    'idle.mjs': `import t from '${tap}'\nt.ok(true)`,
  }
  for (const [name, text] of Object.entries(scripts)) await writeFile(path(name), text)
  const { results, complaint } = await runGroup([path('test.mjs')], {})
  const [{ cpuSeconds } = { cpuSeconds: 0 }] = results
  const ofGrandchild = Number(await readFile(path('microseconds'), 'utf8')) / 1e6
  t.ok(cpuSeconds > ofGrandchild, `${cpuSeconds} s, ${ofGrandchild} s; ${complaint}`)
  const [idle = { cpuSeconds: 0 }] = (await runGroup([path('idle.mjs')], {})).results
  t.ok(idle.cpuSeconds > 0 && idle.cpuSeconds < cpuSeconds, `${idle.cpuSeconds} s, ${cpuSeconds} s`)
})

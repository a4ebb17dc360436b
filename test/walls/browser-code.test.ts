import { join } from 'node:path'
import { type Test, test } from 'tap'
import { root, runTool } from '../run/command.ts'

/** Checks the types of a file as those of browser code. */
async function check(t: Test, content: string) {
  const folder = t.testdir({
    'page.ts': content,
    'tsconfig.json': JSON.stringify({
      extends: join(root, 'tsconfig.browser.json'),
      include: ['page.ts'],
      exclude: [],
    }),
  })
  return await runTool('tsc', ['--project', folder])
}

test('browser code has the types of a browser', async (t) => {
  const { ok, output } = await check(
    t,
    "document.title = 'Files'\nexport const { body } = await fetch('/read')\n",
  )
  t.ok(ok, output)
})

test('browser code has nothing of Node', async (t) => {
  const { ok, output } = await check(
    t,
    "import 'node:fs'\nexport const all = [process.pid, Buffer.alloc(1), setImmediate, __dirname]\n",
  )
  t.notOk(ok)
  for (const missing of ['node:fs', 'process', 'Buffer', 'setImmediate', '__dirname']) {
    t.match(output, new RegExp(`[Cc]annot find .*'${missing}'`))
  }
})

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTestNode } from '@nodekeep/kernel/testing'
import type { Plugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { root } from '../run/command.ts'

test("the example of a sandbox in the SDK's README runs as written", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-readme-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const page = await readFile(join(root, 'plugin-sdk/README.md'), 'utf8')
  const section = /^#### Decode contents that may be hostile\n(.*?)^### /ms.exec(page)?.[1] ?? ''
  const [program = '', plugin = ''] = [...section.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, code]) => code)
  await mkdir(join(folder, 'sandbox'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'sandbox/main.js'), program)
  await writeFile(join(folder, 'index.ts'), plugin)

  const { default: words } = (await import(pathToFileURL(join(folder, 'index.ts')).href)) as {
    default: Plugin
  }
  const node = await createTestNode({
    plugins: [words],
    config: { plugins: { files: true, 'storage-local': true } },
  })
  t.teardown(() => node.stop())
  const { fetch } = await node.signIn()
  await fetch('/write?path=/text', { method: 'PUT', body: 'Sandboxes decode what is hostile.' })
  await fetch('/write?path=/other', { method: 'PUT', body: Uint8Array.of(0xff) })
  const answer = await fetch('/api/words?path=/text')
  t.strictSame([answer.status, await answer.json()], [200, { words: 5, longer: 1 }])
  const refused = await fetch('/api/words?path=/other')
  t.equal(refused.status, 422)
  t.match(await refused.json(), { code: 'UNPROCESSABLE', message: 'The file is no text in UTF-8.' })
})

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { root } from '../run/command.ts'

test('the plugin of the README runs as written, without a build', async (t) => {
  // The folder stands for a checkout in which a person follows the README.
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-readme-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const page = await readFile(join(root, 'README.md'), 'utf8')
  const section = /^## Write a plugin\n(.*?)^## /ms.exec(page)?.[1] ?? ''
  const files = [...section.matchAll(/`([\w/]+\.\w+)`[^`]*\n\n```\w+\n(.*?)^```$/gms)]
  t.same(
    files.map(([, path]) => path),
    ['greeting/package.json', 'greeting/index.ts', 'nodekeep.json'],
  )
  await mkdir(join(folder, 'greeting'))
  for (const [, path = '', content = ''] of files) await writeFile(join(folder, path), content)

  const config = JSON.parse(await readFile(join(folder, 'nodekeep.json'), 'utf8'))
  const node = await createTestNode({ folder, config })
  t.teardown(() => node.stop())
  const { user, fetch } = await node.signIn('owner')
  const [, path = ''] = /127\.0\.0\.1:4200(\/\w+)/.exec(section) ?? []
  t.same(await (await fetch(path)).json(), { text: `Good morning, ${user.username}!` })
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestNode, runCommand } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A plugin with a source whose newest release stands in a file. */
const source = `import { readFile } from 'node:fs/promises'
import { definePlugin, NodekeepError, UpdateSource } from ${JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))}
const newest = new URL('newest.json', import.meta.url)
export default definePlugin({
  id: 'fake-source',
  provides: { source: UpdateSource },
  setup: () => ({
    source: {
      isConfigured: true,
      async latest() {
        const text = await readFile(newest, 'utf8').catch(() => null)
        if (text === null) throw new NodekeepError('UPSTREAM_ERROR', 'The source cannot be reached.')
        return JSON.parse(text)
      },
      async download() {},
    },
  }),
})`

test('the commands of updates ask the running node', async (t) => {
  const folder = t.testdir({})
  const paper = join(folder, 'paper')
  mkdirSync(paper)
  const nodekeep = { id: 'fake-source', sdk: '^0.1.0', entry: './index.js' }
  const manifest = { name: 'fake-source', version: '1.0.0', type: 'module', nodekeep }
  writeFileSync(join(paper, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(paper, 'index.js'), source)
  const config = {
    data: './data',
    plugins: { update: { from: join(root, 'plugins/update') }, 'fake-source': { from: paper } },
  }
  writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify(config))
  const run = (...args: string[]) =>
    runCommand(['update', ...args], { cwd: folder, env: { PATH: process.env.PATH } })
  const [stopped, offline] = await Promise.all([run('status'), run('back')])
  t.match(stopped, { code: 1, stderr: /No node runs on this data folder/ })
  t.match(offline, { code: 1, stderr: /`nodekeep supervise --back` goes back/ })

  const node = await createTestNode({ config, folder, dataFolder: join(folder, 'data') })
  t.teardown(() => node.stop())
  t.equal((await node.signIn('owner')).user.owner, true)
  t.match(await run('check'), { code: 1, stderr: /The source cannot be reached/ })
  const newest = { version: '99.0.0', notes: '# Ninety-nine\r\n\n- It is new.\u001b[2J\n' }
  writeFileSync(join(paper, 'newest.json'), JSON.stringify(newest))

  const check = await run('check', '--json')
  t.same(JSON.parse(check.stdout), { 'update available': true, newest: '99.0.0' })
  const notes = '# Ninety-nine\n\n- It is new.\\u001b[2J\n'
  t.match(check.stderr, notes, 'line by line, and without what a terminal would execute')
  t.match(check.stderr, '"git pull"', 'and why this node cannot install it')
  const [status, json, help] = await Promise.all([run('status'), run('status', '--json'), run('--help')])
  t.match(status, {
    code: 0,
    stdout: /newest +99\.0\.0[\s\S]*way back +none[\s\S]*"git pull"/,
  })
  t.ok(status.stdout.endsWith(`\n\n${notes}`))
  t.match(JSON.parse(json.stdout), { version: /^\d/, newest: '99.0.0', 'check problem': 'none' })
  t.match(help.stdout, /status[\s\S]*check[\s\S]*install[\s\S]*back[\s\S]*history/)

  const [install, back, history, none] = await Promise.all([
    run('install', '--json'),
    run('back', '--yes'),
    run('history'),
    run('history', '--json'),
  ])
  t.match(install, { code: 1, stdout: '', stderr: /runs from its sources.*"git pull"/ })
  t.match(back, { code: 1, stderr: /There is no way back/ })
  t.match(history.stdout, /There was no update yet/)
  t.same(JSON.parse(none.stdout), [])
})

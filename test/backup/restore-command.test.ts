// In a process of its own: it starts the command line and two nodes.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))
const repository = fileURLToPath(new URL('../..', import.meta.url))

const plugins = { files: true, 'storage-local': true, backup: true }

function startNode(dataFolder: string): Promise<TestNode> {
  return createTestNode({ dataFolder, folder: repository, config: { backup: { drill: false }, plugins } })
}

test('the command restores onto an empty machine and onto a node that runs, and forgets the former data', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-command-'))
  let node: TestNode | undefined
  t.teardown(async () => {
    await node?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const from = Object.fromEntries(
    Object.keys(plugins).map((name) => [name, { from: join(repository, 'plugins', name) }]),
  )
  writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify({ plugins: from }))
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...process.execArgv, cli, 'backup', ...args],
      {
        cwd: folder,
        env: { PATH: process.env.PATH },
      },
    )
    return stdout
  }
  node = await startNode(join(folder, 'first'))
  const owner = await node.signIn('owner')
  await owner.fetch('/write?path=/a', { method: 'PUT', body: 'content' })
  const made = (await (await owner.fetch('/api/backup/create', { method: 'POST' })).json()) as {
    filename: string
  }
  await node.stop()
  const archive = join(folder, 'first', 'backups', made.filename)

  // Without an answer, as without a terminal, nothing happens.
  const data = join(folder, 'second')
  t.match(await run('restore', archive, '--data', data), /Nothing was changed/)
  t.strictSame(readdirSync(join(data, 'restore')), [])
  const text = await run('restore', archive, '--data', data, '--yes')
  t.match(text, owner.user.username, 'the users that come back are named')
  t.match(text, /restored when the node starts/)
  t.notOk(existsSync(join(data, 'state.sqlite')), 'nothing is in its place yet')

  node = await startNode(data)
  const back = await node.signIn('owner')
  t.equal(back.user.uuid, owner.user.uuid)
  t.equal(await (await back.fetch('/read?path=/a')).text(), 'content')
  await back.fetch('/write?path=/a', { method: 'PUT', body: 'changed' })

  t.match(await run('restore', archive, '--data', data, '--yes'), /works on with its present data/)
  t.equal(await (await back.fetch('/read?path=/a')).text(), 'changed')
  await node.stop()
  node = await startNode(data)
  const again = await node.signIn('owner')
  t.equal(await (await again.fetch('/read?path=/a')).text(), 'content')

  mkdirSync(join(data, 'backups'), { recursive: true })
  const previous = async () => {
    const status = (await (await again.fetch('/api/backup/status')).json()) as { previous: unknown[] }
    return status.previous
  }
  while ((await previous()).length < 2);
  t.match(await run('list', '--data', data), /from before the last restore is kept/)
  t.match(await run('forget-previous', '--data', data, '--yes'), /deleted/)
  t.strictSame(await previous(), [])
  t.strictSame(readdirSync(join(data, 'restore')), ['applied.json'])
  t.strictSame(readdirSync(join(data, 'files', '.nodekeep')).includes('restore'), false)
  t.match(await run('forget-previous', '--data', data), /no former data/)
  t.equal(readFileSync(join(data, 'files', again.user.uuid, 'a'), 'utf8'), 'content')
})

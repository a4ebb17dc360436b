import { join } from 'node:path'
import { runCommand } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createShareNode, put } from './fixtures/share-node.ts'

t.test('the commands make, list and end links', async (t) => {
  const node = await createShareNode()
  t.teardown(() => node.stop())
  const plugins = { files: true, 'storage-local': true, shares: true }
  const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins }) })
  const run = (...args: string[]) =>
    runCommand([...args, '--config', join(folder, 'nodekeep.json'), '--data', node.dataFolder], {
      cwd: import.meta.dirname,
    })
  const owner = await node.signIn('owner')
  await put(owner, '/photos/a.txt', 'a')
  t.match((await run('shares', 'list')).stdout, /There are no links/)
  const told = await run('share', '/photos', '--both', '--days', '7', '--max-bytes', '5GB')
  t.equal(told.code, 0, told.stderr)
  t.match(told.stdout, /address +http:\/\/127\.0\.0\.1:\d+\/s\/[\w-]{43}/)
  t.match(told.stdout, /works on the machine of the node only/)
  const [listed] = JSON.parse((await run('shares', 'list', '--json')).stdout) as { id: string }[]
  t.match(listed, { path: '/photos', kind: 'both', state: 'open' })
  const address = /\/s\/[\w-]{43}/.exec(told.stdout)?.[0] ?? ''
  t.equal((await node.fetch(address)).status, 200)
  t.match((await run('shares', 'uses', listed?.id ?? '')).stdout, /visit +127\.0\.0\.0\/24/)
  t.match((await run('shares', 'revoke', listed?.id ?? '')).stdout, /The link has ended/)
  t.equal((await node.fetch(address)).status, 404)

  t.match((await run('share', '/none')).stderr, /nothing at "\/none"/)
  t.match((await run('share', '/photos', '--drop', '--both')).stderr, /one of --drop and --both/)
  t.match((await run('share', '/photos', '--days', 'many')).stderr, /"many" is no number for --days/)
})

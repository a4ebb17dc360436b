import { join } from 'node:path'
import { runCommand } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createPreviewNode, fixture, put, untilComplete } from './fixtures/preview-node.ts'

t.test('the command tells how far the previews are', async (t) => {
  const node = await createPreviewNode()
  t.teardown(() => node.stop())
  const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins: { previews: true } }) })
  const run = (...args: string[]) =>
    runCommand(
      ['previews', 'status', ...args, '--config', join(folder, 'nodekeep.json'), '--data', node.dataFolder],
      {
        cwd: folder,
      },
    )
  const owner = await node.signIn('owner')
  await put(owner, '/a.png', fixture('png.png'))
  await put(owner, '/b.png', fixture('png.png').subarray(0, 300))
  const status = await untilComplete(owner)
  const told = await run()
  t.equal(told.code, 0, told.stderr)
  t.match(told.stdout, /waiting +0/)
  t.match(told.stdout, /cache +[\d.]+ (k?B) of 2\.1 GB/)
  t.match(told.stdout, /broken +1/)
  t.strictSame(JSON.parse((await run('--json')).stdout), status)
})

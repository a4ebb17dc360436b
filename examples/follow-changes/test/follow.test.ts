import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'

const root = join(import.meta.dirname, '../../..')

/** Runs the example, and reads what it prints. */
function follow(t: Test, node: string, token: string) {
  const args = ['runtime.js', 'examples/follow-changes/follow.ts']
  const env = { ...process.env, NODE: node, TOKEN: token }
  const child = spawn(process.execPath, args, { cwd: root, env })
  t.teardown(() => child.kill())
  let output = ''
  const until = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => pattern.test(output) && resolve()
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          output += chunk
          look()
        })
      }
      look()
    })
  return { until, ended: once(child, 'exit') }
}

test('the example prints changes until the connection ends', async (t) => {
  const config = { plugins: { files: true, 'storage-local': true, 'file-sync': true } }
  const node = await createTestNode({ folder: root, config })
  const ada = await node.signIn()
  const example = follow(t, String(node.url), ada.token)
  await example.until(/Following/)
  const headers = { 'x-nodekeep-device': 'phone' }
  await ada.fetch('/write?path=/a', { method: 'PUT', body: 'x', headers })
  await example.until(/write \/a by phone\n/)
  await ada.fetch('/write?path=/b', { method: 'PUT', body: 'x' })
  await example.until(/write \/b by a client\n/)
  await node.stop()
  await example.until(/has ended/)
  t.same(await example.ended, [1, null])
})

import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import plugin from '../src/index.ts'

test('the plugin starts with its defaults', async (t) => {
  const node = await createTestNode({ plugins: [plugin] })
  t.teardown(() => node.stop())
  t.match(node.plugins(), [{ id: plugin.id, state: 'active' }])
})

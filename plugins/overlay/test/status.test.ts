import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import overlay from '../src/index.ts'

test('without a network, a node knows itself and is not connected', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({
    plugins: [overlay],
    onLog: (line) => lines.push(line),
    logLevel: 'warn',
  })
  t.teardown(() => node.stop())
  t.equal((await node.fetch('/api/overlay/status')).status, 401, 'a stranger learns nothing')

  const ada = await node.signIn()
  const status = (await (await ada.fetch('/api/overlay/status')).json()) as Record<string, unknown>
  t.match(status, { nodeId: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/ })
  t.same(status, {
    nodeId: status.nodeId,
    did: `did:overlay:${status.nodeId}`,
    connected: false,
    proxyEnabled: false,
    allocatedPort: 0,
    addresses: [],
    endsTls: false,
  })
  t.same(lines, [], 'nothing to warn of')
})

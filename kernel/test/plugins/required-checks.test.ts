import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, HealthChecks } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('the node logs a required health check that does not exist once', async (t) => {
  const disk = definePlugin({
    id: 'disk',
    contributes: { checks: HealthChecks },
    setup({ checks, onStart }) {
      onStart(() => {
        checks.add('disk', { check: () => ({ ok: true, state: 'available' }) })
      })
    },
  })
  const log: string[] = []
  const node = await createTestNode({
    plugins: [disk],
    config: { health: { required: ['databse', 'disk', 'database'] } },
    onLog: (line) => log.push(line),
  })
  t.teardown(() => node.stop())
  t.equal((await node.fetch('/health')).status, 503)
  const told = log.filter((line) => line.includes('health.required')).map((line) => JSON.parse(line))
  t.equal(told.length, 1)
  t.match(told[0], {
    level: 'error',
    msg: '"health.required" names the check "databse", which does not exist, so /health answers 503. Did you mean "database"?',
    known: ['database', 'clock', 'plugins', 'disk'],
  })
})

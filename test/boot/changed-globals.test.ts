import { test } from 'tap'
import { fromFixtures, startNodeProcess } from './node-process.ts'

test('a plugin that changes what all plugins share is named, and cannot remove the listeners of others', async (t) => {
  const node = await startNodeProcess({ plugins: fromFixtures(['changes-globals', 'healthy'], true) })
  t.teardown(() => node.remove())
  const url = await node.ready
  const warnings = node.log().filter(({ level }) => level === 'warn')
  const named = (what: string) => ({
    plugin: 'changes-globals',
    msg: `The plugin "changes-globals" affects all others. It changed ${what}. The node and all plugins share it.`,
  })
  const changed = ['fetch', 'JSON.stringify', 'Object.prototype', 'process.env', 'the working directory']
  t.match(warnings, changed.map(named))

  const answer = await fetch(new URL('/removes-listeners', url))
  t.equal(answer.status, 500)
  const id = answer.headers.get('x-request-id')
  t.match(await node.logged(({ reqId }) => reqId === id), {
    plugin: 'changes-globals',
    err: { message: /must not call process\.removeAllListeners\(\)/, stack: /changes-globals\/index\.js/ },
  })
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0, signal: null }, 'the node still stops as it is asked')
})

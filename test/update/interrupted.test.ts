import { existsSync, readlinkSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { supervisedNode } from './supervised-node.ts'

tap.setTimeout(240_000)
// The tests mostly wait for nodes that start.
tap.jobs = 3

for (const [step, version, result, rows] of [
  ['preparing', '1.0.0', 'failed', ['before', 'lost']],
  ['trial', '1.0.0', 'failed', ['before']],
  ['restoring', '1.0.0', 'failed', ['before']],
  ['admitting', '2.0.0', 'installed', ['before', 'lost']],
  ['going back', '2.0.0', 'went back', ['before', 'lost']],
] as const) {
  test(`a supervisor that was killed while ${step} ends the change at its next start`, async (t) => {
    const node = await supervisedNode(t)
    await node.post('/rows', { text: 'before' })
    await node.end('SIGTERM')
    const copies = join(node.releases, 'before-2.0.0')
    const former = join(node.folder, 'copies')
    const databases = ['state.sqlite', 'plugins/switchable/rows.sqlite']
    for (const path of databases) {
      await mkdir(join(former, path, '..'), { recursive: true })
      await cp(join(node.data, path), join(former, path))
    }
    await node.start()
    await node.runs('1.0.0')
    await node.post('/rows', { text: 'lost' })
    await node.end('SIGTERM')
    // A node that serves removes copies that belong to no change.
    await cp(former, copies, { recursive: true })
    await node.writeRelease(join(node.releases, '2.0.0'), '2.0.0')
    const [fromPath, toPath] = [join(node.folder, 'first'), join(node.releases, '2.0.0')]
    const startedAt = new Date().toISOString()
    const change = {
      step,
      from: '1.0.0',
      fromPath,
      to: '2.0.0',
      toPath,
      startedAt,
      reason: null,
      databases,
      closedBy: null,
    }
    await writeFile(join(node.releases, 'state.json'), JSON.stringify({ format: 1, change, admission: null }))
    await node.start()
    await node.runs(version)
    t.match(await node.attempt(1), { from: '1.0.0', to: '2.0.0', result })
    const kept = (await node.get<string[]>('/rows')).filter((row) => !row.startsWith('start'))
    t.strictSame(kept, rows)
    t.equal(readlinkSync(join(node.releases, 'current')) === '2.0.0', version === '2.0.0')
    t.strictSame(await node.end('SIGTERM'), [0, null])
    if (version === '1.0.0') t.notOk(existsSync(copies))
  })
}

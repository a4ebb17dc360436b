import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { createShakyStorage } from '../../fixtures/shaky-storage.ts'
import { begin, connect, pathsOf } from '../../fixtures/sync-client.ts'
import { createSyncNode, put } from '../../fixtures/sync-node.ts'

const dayMs = 24 * 60 * 60 * 1000

test('a device learns which mount holds changes back, and gets them when it answers', async (t) => {
  const shaky = createShakyStorage()
  const node = await createSyncNode({
    plugins: [shaky.plugin],
    config: { plugins: { 'storage-memory': true }, storage: { mounts: { '/cold': 'shaky' } } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const client = await connect(t, node, ada)
  await begin(client)
  shaky.breakNextWrite()
  await t.rejects(put(ada, '/cold/a', 'x'))
  await put(ada, '/b', 'x')
  t.match(await client.next('waiting'), { mount: '/cold', since: String })
  shaky.repair()
  await put(ada, '/cold/a', 'y')
  t.match(await client.next('waiting'), { mount: null, since: null })
  const seen: string[] = []
  while (seen.length < 3) {
    const message = await client.next('changes')
    seen.push(...pathsOf(message))
    client.say({ type: 'ack', cursor: message.cursor })
  }
  t.same(seen, ['/cold/a', '/b', '/cold/a'])
})

test('a device gets what other programs change', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a', 'x')
  const client = await connect(t, node, ada)
  await begin(client)
  await appendFile(join(node.dataFolder, 'files', ada.user.uuid, 'a'), 'y')
  t.match((await client.next('changes')).changes, [{ op: 'write', path: '/a', size: 2, by: 'disk' }])
})

test('a device goes on after a restart, unless the journal began anew or it was away for long', async (t) => {
  const dataFolder = t.testdir()
  const config = { plugins: { 'storage-memory': true } }
  const first = await createSyncNode({ dataFolder, config })
  const { device, epoch, cursor } = await begin(await connect(t, first, await first.signIn('owner')))
  await first.stop()

  /** The message after the welcome, when the device goes on. */
  const goOn = async (mounts: Record<string, string> = {}) => {
    const node = await createSyncNode({ dataFolder, config: { ...config, storage: { mounts } } })
    try {
      const owner = await node.signIn('owner')
      const client = await connect(t, node, owner)
      client.say({ type: 'hello', protocol: 1, device, epoch, cursor })
      const { epoch: present } = await client.next('welcome')
      if (present === epoch) await put(owner, '/a', 'x')
      return await client.any()
    } finally {
      await node.stop()
    }
  }
  t.match(await goOn(), { type: 'changes', changes: [{ path: '/a' }] })

  const devices = new DatabaseSync(join(dataFolder, 'plugins/file-sync/devices.sqlite'))
  devices.prepare('UPDATE devices SET seen = ?').run(Date.now() - 91 * dayMs)
  devices.close()
  t.match(await goOn(), { type: 'reset', reason: 'expired' })
  t.match(await goOn({ '/more': 'memory' }), { type: 'reset', reason: 'epoch' }, 'as after a restore')
})

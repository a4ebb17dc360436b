import { appendFile, copyFile } from 'node:fs/promises'
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

test('a device that has stored its listing goes on, unless the node was put back to before that', async (t) => {
  const dataFolder = t.testdir()
  const file = join(dataFolder, 'plugins/file-sync/devices.sqlite')
  const start = async () => {
    const node = await createSyncNode({ dataFolder })
    const owner = await node.signIn('owner')
    return { node, owner, client: await connect(t, node, owner) }
  }
  const first = await start()
  await put(first.owner, '/a', 'x')
  const { device, epoch } = await begin(first.client)
  await first.node.stop()
  // A version that did not know listings has left the database like this.
  const former = new DatabaseSync(file)
  former.exec('ALTER TABLE devices DROP COLUMN listing; PRAGMA journal_mode = DELETE')
  former.close()
  await copyFile(file, `${file}.former`)

  const second = await start()
  second.client.say({ type: 'hello', protocol: 1, device })
  await second.client.next('welcome')
  const { head: cursor, changeId = '', listing = '' } = await second.client.next('reset')
  t.not(listing, '')
  second.client.say({ type: 'listed', listing: 'another' })
  second.client.say({ type: 'listed', listing })
  second.client.say({ type: 'ping' })
  await second.client.next('pong')
  await second.node.stop()

  const hello = { type: 'hello', protocol: 1, device, epoch, cursor, changeId } as const
  const goOn = async (more: { readonly listing?: string }) => {
    const { node, client } = await start()
    try {
      client.say({ ...hello, ...more })
      const { reset } = await client.next('welcome')
      return reset ? (await client.next('reset')).reason : 'goes on'
    } finally {
      await node.stop()
    }
  }
  t.equal(await goOn({ listing }), 'goes on', 'after a restart')
  t.equal(await goOn({ listing: 'another' }), 'expired')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = DELETE')
  database.close()
  await copyFile(`${file}.former`, file)
  t.equal(await goOn({}), 'goes on', 'a client that does not know listings')
  t.equal(await goOn({ listing }), 'expired')
})

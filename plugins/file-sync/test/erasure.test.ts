import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { begin, connect } from './fixtures/sync-client.ts'
import { createSyncNode, send } from './fixtures/sync-node.ts'
import { beginUpload, contentOf, partsOf, sendBlock, upload } from './fixtures/uploader.ts'

test('the deletion of a user removes their devices, uploads and blocks', async (t) => {
  let erase: UserDataHolder['erase'] = () => Promise.reject(new Error('Nothing was captured.'))
  const capture = definePlugin({
    id: 'captures-user-data',
    requires: { holders: UserData },
    setup({ holders, onStart }) {
      onStart(() => {
        erase = async (...call) => holders.get('file-sync')?.erase(...call)
      })
    },
  })
  const node = await createSyncNode({ plugins: [capture] })
  t.teardown(() => node.stop())
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  const [bytes, known] = [randomBytes(1000), randomBytes(3_000_000)]
  const content = contentOf(bytes)
  const [part] = partsOf(known, contentOf(known))
  if (part === undefined) throw new Error('A file has a block.')
  const clients = []
  const ids: string[] = []
  for (const user of [ada, grace]) {
    const client = await connect(t, node, user)
    clients.push(client)
    await begin(client)
    await upload(user, '/known', known)
    const { body } = await beginUpload(user, '/a', content)
    await sendBlock(user, body.id, content.sha256, bytes)
    ids.push(body.id)
  }
  const { signal } = new AbortController()
  await erase(ada.user.uuid, signal)
  await erase(ada.user.uuid, signal)
  t.match(await clients[0]?.closed, { code: 1008 })
  const blocks = join(node.dataFolder, 'plugins/file-sync/not-in-backups/blocks')
  t.same(await readdir(blocks), [grace.user.uuid])
  t.same((await send(ada, 'GET', '/api/sync/devices')).body.devices, [])
  t.match(await send(ada, 'GET', `/api/sync/uploads/${ids[0]}`), { status: 404 })
  t.same((await beginUpload(ada, '/b', contentOf(part.bytes))).body.missing, [0])
  t.same((await beginUpload(grace, '/b', contentOf(part.bytes))).body.missing, [])
  t.equal((await send(grace, 'GET', '/api/sync/devices')).body.devices.length, 1)
  t.match(await send(grace, 'POST', `/api/sync/uploads/${ids[1]}/commit`), { status: 200 })
})

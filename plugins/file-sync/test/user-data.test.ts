import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type RegistryReader, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { begin, connect } from './fixtures/sync-client.ts'
import { createSyncNode, send } from './fixtures/sync-node.ts'
import { beginUpload, contentOf, sendBlock } from './fixtures/uploader.ts'

// Users are apart, so one node is enough for all tests.
const dataFolder = t.testdir()
let holders: RegistryReader<UserDataHolder> | undefined
const capture = definePlugin({
  id: 'captures-user-data',
  requires: { userData: UserData },
  setup({ userData }) {
    holders = userData
  },
})
const start = () => createSyncNode({ plugins: [capture], dataFolder })
let node = await start()
t.teardown(() => node.stop())
const uploads = new Map<string, { readonly token: string; readonly id: string }>()

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = holders?.get('file-sync')
      if (holder === undefined) throw new Error('"file-sync" has no holder of user data.')
      return holder
    },
    async store() {
      const user = await node.signIn()
      const client = await connect(t, node, user)
      await begin(client)
      const bytes = randomBytes(1000)
      const content = contentOf(bytes)
      const { body } = await beginUpload(user, '/a', content)
      await sendBlock(user, body.id, content.sha256, bytes)
      uploads.set(user.user.uuid, { token: user.token, id: body.id })
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const { token = '', id = '' } = uploads.get(userUuid) ?? {}
      const headers = { authorization: `Bearer ${token}` }
      const user = { fetch: (path: string, init = {}) => node.fetch(path, { ...init, headers }) }
      const devices: { readonly id: string }[] = (await send(user, 'GET', '/api/sync/devices')).body.devices
      const { status, body } = await send(user, 'GET', `/api/sync/uploads/${id}`)
      const blocks = join(dataFolder, 'plugins/file-sync/not-in-backups/blocks', userUuid)
      return [
        ...devices.map((device) => device.id),
        ...(status === 404 ? [] : [body.sha256, body.missing]),
        ...(await readdir(blocks, { recursive: true }).catch(() => [])),
      ]
    },
    async restart() {
      await node.stop()
      node = await start()
    },
    close: async () => {},
  }),
})

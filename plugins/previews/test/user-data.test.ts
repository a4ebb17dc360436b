import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { createPreviewNode, fixture, photosOf, put, untilComplete, varied } from './fixtures/preview-node.ts'

let holder: UserDataHolder | undefined
const reader = definePlugin({
  id: 'reader',
  requires: { userData: UserData },
  setup({ userData, onStart }) {
    onStart(() => {
      holder = userData.get('previews')
    })
  },
})

// Users are apart, so one node is enough for all tests.
const node = await createPreviewNode({ plugins: [reader] })
t.teardown(() => node.stop())
const users = new Map<string, TestUser>()

userDataConformance(t.test, {
  async setUp() {
    if (holder === undefined) throw new Error('"previews" has no holder of user data.')
    return {
      holder,
      async store() {
        const user = await node.signIn()
        users.set(user.user.uuid, user)
        await put(user, '/a.png', varied(fixture('png.png')))
        await untilComplete(user)
        return user.user.uuid
      },
      async dataOf(userUuid) {
        const user = users.get(userUuid)
        const { photos } = user === undefined ? { photos: [] } : await photosOf(user)
        const cache = join(node.dataFolder, 'plugins/previews/not-in-backups/cache')
        const files = readdirSync(cache, { recursive: true, encoding: 'utf8' })
        return [...photos, ...files.filter((name) => name.startsWith(userUuid))]
      },
      close: async () => {},
    }
  },
})

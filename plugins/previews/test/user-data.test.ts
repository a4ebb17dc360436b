import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { createPreviewNode, fixture, post, put, untilComplete, varied } from './fixtures/preview-node.ts'

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
const dataFolder = t.testdir()
const start = () => createPreviewNode({ plugins: [reader], dataFolder })
let node = await start()
t.teardown(() => node.stop())
const cache = join(dataFolder, 'plugins/previews/not-in-backups/cache')

userDataConformance(t.test, {
  async setUp() {
    return {
      get holder() {
        if (holder === undefined) throw new Error('"previews" has no holder of user data.')
        return holder
      },
      async store() {
        const user = await node.signIn()
        await put(user, '/a.png', varied(fixture('png.png')))
        await untilComplete(user)
        // The preview stays for a while. With the file, a restart would make it again, as the user is there.
        await post(user, '/delete', { path: '/a.png', permanent: true })
        return user.user.uuid
      },
      async dataOf(userUuid) {
        const files = readdirSync(cache, { recursive: true, encoding: 'utf8' })
        return files.filter((name) => name.startsWith(userUuid))
      },
      async restart() {
        await node.stop()
        node = await start()
      },
      close: async () => {},
    }
  },
})

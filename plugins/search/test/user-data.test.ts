import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type RegistryReader, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { createSearchNode, put, untilComplete } from './fixtures/search-node.ts'

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
const start = () => createSearchNode({ plugins: [capture], dataFolder })
let node = await start()
t.teardown(() => node.stop())

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = (name: string) => {
        const found = holders?.get(name)
        if (found === undefined) throw new Error(`"${name}" has no holder of user data.`)
        return found
      }
      // The node removes all data of a user. Files that stay would be followed after a restart.
      return {
        async erase(userUuid: string, signal: AbortSignal) {
          await holder('search').erase(userUuid, signal)
          await holder('files').erase(userUuid, signal)
        },
      }
    },
    async store() {
      const user = await node.signIn()
      await put(user, '/a.txt', 'words')
      await untilComplete(user)
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const names = await readdir(join(dataFolder, 'plugins/search/not-in-backups/users')).catch(() => [])
      // Those beside it are there while it is open.
      return names.filter((name) => name === `${userUuid}.sqlite`)
    },
    async restart() {
      await node.stop()
      node = await start()
    },
    close: async () => {},
  }),
})

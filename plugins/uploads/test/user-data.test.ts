import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type RegistryReader, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { begin, type Client, createUploadsNode, patch, uploads } from './fixtures/uploads-node.ts'

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
const start = () => createUploadsNode({ plugins: [capture], dataFolder })
let node = await start()
t.teardown(() => node.stop())
const tokens = new Map<string, string>()

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = holders?.get('uploads')
      if (holder === undefined) throw new Error('"uploads" has no holder of user data.')
      return holder
    },
    async store() {
      const user = await node.signIn()
      await patch(user, await begin(user, '/a', 9), 0, 'bytes')
      tokens.set(user.user.uuid, user.token)
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const headers = { authorization: `Bearer ${tokens.get(userUuid)}` }
      const user: Client = { fetch: (path) => node.fetch(path, { headers }) }
      const staged = join(dataFolder, 'plugins/uploads/not-in-backups/staged', userUuid)
      const listed = (await (await user.fetch(uploads)).json()) as {
        readonly uploads: readonly { readonly id: string }[]
      }
      return [...listed.uploads.map(({ id }) => id), ...(await readdir(staged).catch(() => []))]
    },
    async restart() {
      await node.stop()
      node = await start()
    },
    close: async () => {},
  }),
})

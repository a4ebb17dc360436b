import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, type RegistryReader, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { createIpfsNode, publications, publish, put } from '../fixtures/ipfs-node.ts'

// Users are apart, so one node is enough for all tests.
const dataFolder = t.testdir()
const start = async () => {
  let holders: RegistryReader<UserDataHolder> | undefined
  const capture = definePlugin({
    id: 'captures-user-data',
    requires: { userData: UserData },
    setup({ userData }) {
      holders = userData
    },
  })
  const node = await createIpfsNode({ plugins: [capture], dataFolder })
  return { node, holder: () => holders?.get('ipfs') }
}
let running = await start()
t.teardown(() => running.node.stop())
const users = new Map<string, TestUser>()

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = running.holder()
      if (holder === undefined) throw new Error('"ipfs" has no holder of user data.')
      return holder
    },
    async store() {
      const user = await running.node.signIn()
      await put(user, '/folder/common', 'of all users')
      await put(user, '/folder/own', user.user.uuid)
      await publish(user, '/folder')
      await publish(user, '/folder/common')
      users.set(user.user.uuid, user)
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const user = users.get(userUuid)
      if (user === undefined) return []
      const list = await publications({
        ...user,
        fetch: (path, init = {}) =>
          running.node.fetch(path, { ...init, headers: { authorization: `Bearer ${user.token}` } }),
      })
      const bytes = await Promise.all(
        list.publications.map(
          async ({ cid }) => (await running.node.fetch(`/ipfs/${cid}?format=raw`)).status,
        ),
      )
      const packs = join(dataFolder, 'plugins/ipfs/not-in-backups/packs')
      for (const name of await readdir(packs))
        if ((await readFile(join(packs, name))).includes(userUuid)) bytes.push(0)
      return [
        ...list.publications.map(({ cid, state }) => `${cid} ${state}`),
        ...bytes,
        ...(list.bytes > 0 ? [list.bytes] : []),
      ]
    },
    async restart() {
      await running.node.stop()
      running = await start()
    },
    close: async () => {},
  }),
})

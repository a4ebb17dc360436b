import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { begin } from './fixtures/guest-uploads.ts'
import { call, createShareNode, link } from './fixtures/share-node.ts'

let holder: UserDataHolder | undefined
const reader = definePlugin({
  id: 'reader',
  requires: { userData: UserData },
  setup({ userData, onStart }) {
    onStart(() => {
      holder = userData.get('shares')
    })
  },
})

// Users are apart, so one node is enough for all tests.
const dataFolder = t.testdir()
const start = () => createShareNode({ plugins: [reader], dataFolder })
let node = await start()
t.teardown(() => node.stop())

function rowsOf(file: string, table: string, userUuid: string): unknown[] {
  const database = new DatabaseSync(join(dataFolder, 'plugins/shares', file), { readOnly: true })
  try {
    return database.prepare(`SELECT id FROM ${table} WHERE user = ?`).all(userUuid)
  } finally {
    database.close()
  }
}

userDataConformance(t.test, {
  async setUp() {
    return {
      get holder() {
        if (holder === undefined) throw new Error('There is no holder of user data.')
        return holder
      },
      async store() {
        const user = await node.signIn()
        await call(user, 'POST', '/mkdir', { path: '/in' })
        const { path } = await link(user, '/in', { kind: 'drop' })
        await begin(node, path, 'a.txt', 10)
        return user.user.uuid
      },
      async dataOf(userUuid) {
        return [
          ...rowsOf('shares.sqlite', 'shares', userUuid),
          ...rowsOf('not-in-backups/uses.sqlite', 'uploads', userUuid),
        ]
      },
      async restart() {
        await node.stop()
        node = await start()
      },
      close: async () => {},
    }
  },
})

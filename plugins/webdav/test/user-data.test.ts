import { definePlugin, type RegistryReader, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { connectProgram, createDavNode, programWith } from './fixtures/dav-node.ts'
import { lockPath } from './fixtures/locking.ts'
import { propertiesIn, propfindOf } from './fixtures/multistatus.ts'

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
const start = () => createDavNode({ plugins: [capture], dataFolder })
let node = await start()
t.teardown(() => node.stop())
const tokens = new Map<string, string>()

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = holders?.get('webdav')
      if (holder === undefined) throw new Error('"webdav" has no holder of user data.')
      return holder
    },
    async store() {
      const user = await node.signIn()
      const client = await connectProgram(node, user)
      await client.expect(201, 'PUT', '/a', { body: 'x' })
      await client.expect(207, 'PROPPATCH', '/a', {
        body: '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:x">red</color></prop></set></propertyupdate>',
      })
      await lockPath(client, '/a')
      tokens.set(user.user.uuid, client.token)
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const { ask } = programWith(node, tokens.get(userUuid) ?? '')
      const body = propfindOf('{DAV:}lockdiscovery', '{urn:x}color')
      const { text } = await ask('PROPFIND', '/a', { headers: { depth: '0' }, body })
      // How long a lock still lasts changes by itself.
      const values = Object.values(propertiesIn(text)).map((value) => value.replace(/Second-\d+/, ''))
      return values.filter((value) => value !== '')
    },
    async restart() {
      await node.stop()
      node = await start()
    },
    close: async () => {},
  }),
})

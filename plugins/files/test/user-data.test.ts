import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { createFilesNode, put } from './fixtures/files-node.ts'
import { shakyBackend } from './fixtures/shaky-backend.ts'

// Users are apart, so one node is enough for all tests.
const dataFolder = t.testdir()
const start = async () => {
  const services = captureServices()
  const shaky = shakyBackend()
  const plugins = [services.plugin, shaky.plugin]
  return {
    services,
    shaky,
    node: await createFilesNode({ mounts: { '/shaky': 'shaky' } }, { plugins, dataFolder }),
  }
}
let running = await start()
t.teardown(() => running.node.stop())

userDataConformance(t.test, {
  setUp: async () => ({
    get holder() {
      const holder = running.services.userData.get('files')
      if (holder === undefined) throw new Error('"files" has no holder of user data.')
      return holder
    },
    async store() {
      const user = await running.node.signIn()
      for (const path of ['/docs/deep/a', '/b', '/shaky/c']) await put(user, path, path)
      return user.user.uuid
    },
    async dataOf(userUuid) {
      const folder = join(dataFolder, 'files', userUuid)
      const names = await readdir(folder, { recursive: true }).catch(() => [])
      const changes = await running.services.recorded(userUuid)
      return [...names.sort(), ...changes.map(({ seq, path }) => `${seq} ${path}`)]
    },
    async restart() {
      await running.node.stop()
      running = await start()
    },
    async obstruct() {
      running.shaky.isReachable = false
      return async () => {
        running.shaky.isReachable = true
      }
    },
    close: async () => {},
  }),
})

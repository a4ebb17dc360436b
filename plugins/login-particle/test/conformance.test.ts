import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { startLoginNode } from './fixtures/login-node.ts'
import { user } from './fixtures/particle-server.ts'

loginConformance(test, {
  boundToOrigin: false,
  async setUp() {
    const { server, provider, node, close } = await startLoginNode()
    return {
      provider,
      origin: node.url,
      credentials: async () => user,
      // A token of Particle Network lasts as long as the user is signed in there.
      expire: null,
      singleUse: null,
      async stalled() {
        server.answer = () => {}
        return { credentials: user, asked: server.next().then(() => {}) }
      },
      async unreachable() {
        await server.close()
        return user
      },
      close,
    }
  },
})

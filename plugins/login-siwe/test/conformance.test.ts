import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { startLoginNode } from './fixtures/login-node.ts'
import { credentials, Wallet } from './fixtures/wallet.ts'

loginConformance(test, {
  singleUse: true,
  boundToOrigin: true,
  async setUp() {
    const { node, provider, origin, nonce } = await startLoginNode()
    const wallet = Wallet.createRandom()
    return {
      provider,
      origin,
      credentials: async () => credentials(await nonce(), wallet),
      expired: async () =>
        credentials(await nonce(), wallet, { fields: { issuedAt: new Date(Date.now() - 86_400_000) } }),
      close: () => node.stop(),
    }
  },
})

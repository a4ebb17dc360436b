import { definePlugin, LoginProviders, NodeAddress } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { nonceRoute } from './nonce-route.ts'
import { Nonces } from './nonces.ts'
import { SiweProvider } from './siwe-provider.ts'

/** Contributes the login provider `siwe` (Sign-In with Ethereum) and the route for its nonces. */
export default definePlugin({
  id: 'login-siwe',
  description: 'People sign in with a wallet, or with a key that the browser keeps.',
  config: configuration,
  requires: { address: NodeAddress },
  contributes: { providers: LoginProviders },
  async setup({ config, state, address, providers, routes }) {
    const nonces = new Nonces(state, config.nonceTtlSeconds * 1000, config.maxOutstandingNonces)
    await nonces.load()
    providers.add('siwe', new SiweProvider(config, nonces))
    routes((app) => nonceRoute(app, config, nonces, address))
  },
})

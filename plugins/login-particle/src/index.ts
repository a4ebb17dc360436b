import { definePlugin, LoginProviders } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { particleEndpoint } from './endpoint.ts'
import { ParticleLogin } from './particle-login.ts'

/** Contributes the login provider `particle`: wallets that Particle Network keeps for its users. */
export default definePlugin({
  id: 'login-particle',
  description: 'People sign in with a wallet of Particle Network.',
  config: configuration,
  contributes: { logins: LoginProviders },
  setup({ id, config, log, logins, onStop }) {
    const endpoint = particleEndpoint(config.baseURL, `${id}.baseURL`)
    // Not the plugin's own signal, which aborts before running requests have had time to finish.
    const stopped = new AbortController()
    onStop(() => stopped.abort())
    logins.add(
      'particle',
      new ParticleLogin({ ...config, endpoint, section: id, log, stopped: stopped.signal }),
    )
  },
})

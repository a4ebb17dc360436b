import { definePlugin, HealthChecks, LoginProviders, NodeAddress, Type } from '@nodekeep/plugin-sdk'
import { AccessRequests } from './access-requests.ts'
import { accessRequestRoutes } from './routes.ts'

/** The plugin `access-requests`: a person who may not sign in asks the owner, who admits or refuses them. */
export default definePlugin({
  id: 'access-requests',
  description: 'People ask you to let them in, and you decide.',
  config: Type.Object({}),
  requires: { logins: LoginProviders, address: NodeAddress },
  contributes: { health: HealthChecks },
  setup({ state, logins, address, health, routes }) {
    const requests = new AccessRequests(state)
    health.add('access-requests', {
      async check() {
        const { length } = await requests.list()
        if (length === 0) return { ok: true, state: 'none' }
        const who = length === 1 ? 'A person asks' : `${length} people ask`
        return { ok: true, state: 'waiting', message: `${who} to be let in. Decide under "Users".` }
      },
    })
    routes((app) => accessRequestRoutes(app, requests, { logins, address }))
  },
})

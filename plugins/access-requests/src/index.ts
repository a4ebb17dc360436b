import { definePlugin, LoginProviders, NodeAddress, Type } from '@nodekeep/plugin-sdk'
import { AccessRequests } from './access-requests.ts'
import { accessRequestRoutes } from './routes.ts'

/** The plugin `access-requests`: a person who may not sign in asks the owner, who admits or refuses them. */
export default definePlugin({
  id: 'access-requests',
  description:
    'Takes requests for admission from people who prove their wallet, and shows them to the owner.',
  config: Type.Object({}),
  requires: { logins: LoginProviders, address: NodeAddress },
  setup({ state, logins, address, routes }) {
    const requests = new AccessRequests(state)
    routes((app) => accessRequestRoutes(app, requests, { logins, address }))
  },
})

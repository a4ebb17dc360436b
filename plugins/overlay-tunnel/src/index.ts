import { definePlugin, NodeIdentity, Overlay, type OverlayNetwork } from '@nodekeep/plugin-sdk'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { configuration } from './configuration.ts'
import { gatewayAddress } from './gateway-address.ts'
import { GatewayTrust } from './gateway-trust.ts'
import { NameRegistration } from './name-registration.ts'
import { ownName } from './own-name.ts'
import { TunnelNetwork } from './tunnel-network.ts'

/** The plugin `overlay-tunnel`: the client of a gateway. */
export default definePlugin({
  id: 'overlay-tunnel',
  description: 'Reaches out to a gateway, so that your router needs no open port.',
  config: configuration,
  requires: { identity: NodeIdentity },
  provides: { network: Overlay },
  async setup({ config, identity, state, log }) {
    const { gateway, gatewayId, proxy, maxConnections } = config
    if (gateway === '' && (config.name ?? gatewayId) !== undefined)
      log.warn('The node connects to no gateway. To do so, set "overlay-tunnel.gateway".')
    if (gateway === '' || !proxy) return { network: noNetwork }
    const address = gatewayAddress(gateway)
    const trust = await GatewayTrust.load(address, gatewayId, state, log)
    const tls = () => tunnelTls(identity)
    const name = config.name === undefined ? null : ownName(config.name)
    const registration = new NameRegistration(name, identity, state, log)
    return { network: new TunnelNetwork({ address, trust, tls, name, registration, maxConnections, log }) }
  },
})

const noNetwork: OverlayNetwork = {
  isConfigured: false,
  status: () => ({ connected: false, proxyEnabled: false, allocatedPort: 0, origins: [], problem: null }),
  join: async () => {},
}

import { resolve } from 'node:path'
import { Connections, definePlugin, Identity } from '@nodekeep/plugin-sdk'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { ConfiguredNames } from './addresses/names.ts'
import { GatewayCertificate } from './clients/gateway-certificate.ts'
import { configuration } from './configuration.ts'
import { Gateway } from './gateway.ts'
import { parsePortRange } from './ports/port-range.ts'
import { PortTable } from './ports/port-table.ts'

/** The plugin `gateway`: the public side of tunnels. */
export default definePlugin({
  id: 'gateway',
  description: 'Leads clients to nodes that connect to it.',
  config: configuration,
  requires: { identity: Identity, connections: Connections },
  async setup({ config, identity, connections, nodeDataDir, sqliteFile, log, signal, onServing, onStop }) {
    const range = parsePortRange(config.ports.range)
    const { tls } = config
    const files = tls && { cert: resolve(nodeDataDir, tls.cert), key: resolve(nodeDataDir, tls.key) }
    const gateway = new Gateway({
      config,
      tls: tunnelTls(await identity.certificate()),
      names: new ConfiguredNames(config.names),
      portTable: range === null ? null : new PortTable(sqliteFile('ports'), range),
      certificate: files === undefined ? null : new GatewayCertificate(files, log),
      connections,
      log,
    })
    onServing(async () => {
      await gateway.start()
      log.info(
        { gatewayId: identity.nodeId, ...gateway.listening },
        `The gateway takes nodes. Its id, for "overlay-tunnel.gatewayId", is ${identity.nodeId}.`,
      )
    })
    let stopped: Promise<void> | null = null
    const stop = () => {
      stopped ??= gateway.stop()
      return stopped
    }
    signal.addEventListener('abort', () => void stop(), { once: true })
    onStop(stop)
  },
})

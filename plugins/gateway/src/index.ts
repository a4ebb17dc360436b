import { DatabaseSync } from 'node:sqlite'
import { Connections, definePlugin, NodeAddress, NodeIdentity, PublicOrigins } from '@nodekeep/plugin-sdk'
import { CertificateFiles } from '@nodekeep/plugin-sdk/server-tls'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { ConfiguredNames } from './addresses/names.ts'
import { configuration } from './configuration.ts'
import { Gateway } from './gateway.ts'
import { parsePortRange } from './ports/port-range.ts'
import { PortTable } from './ports/port-table.ts'
import { AddressProof } from './registration/address-proof.ts'
import { RegisteredNames } from './registration/registered-names.ts'
import { Registration } from './registration/registration.ts'
import { registrationRoutes } from './registration/routes.ts'
import { UsedProofs } from './registration/used-proofs.ts'

/** The plugin `gateway`: the public side of tunnels. */
export default definePlugin({
  id: 'gateway',
  description: 'Leads people from the internet to nodes at home.',
  config: configuration,
  requires: { identity: NodeIdentity, connections: Connections, address: NodeAddress },
  contributes: { origins: PublicOrigins },
  async setup(context) {
    const { id, config, identity, connections, address, origins, sqliteFile, log, signal } = context
    const { routes, onServing, onStop } = context
    const range = parsePortRange(config.ports.range)
    const { tls } = config
    const certificate = tls === undefined ? null : await CertificateFiles.open({ ...tls, log })
    onStop(() => certificate?.close())
    if (certificate?.current === null) throw new Error(`"gateway.tls": ${certificate.problem}`)
    const { domain } = config
    const configured = new ConfiguredNames(config.names)
    const database =
      domain === undefined || !config.registration.enabled ? null : new DatabaseSync(sqliteFile('names'))
    database?.exec('PRAGMA journal_mode = WAL')
    onStop(() => database?.close())
    const registered = database && new RegisteredNames(database, configured)
    const gateway = new Gateway(config, {
      tls: await tunnelTls(identity),
      names: registered ?? configured,
      portTable: range === null ? null : new PortTable(sqliteFile('ports'), range),
      certificate,
      connections,
      log,
    })
    if (domain !== undefined && database !== null && registered !== null) {
      const { requestsPerMinute, ...rules } = config.registration
      const services = {
        names: registered,
        proofs: new UsedProofs(database, requestsPerMinute),
        addressProof: new AddressProof(),
        urlOf: (label: string) => gateway.urlOf(`${label}.${domain}`),
        isConnected: (nodeId: string) => gateway.isConnected(nodeId),
        changed: (node: string) => {
          const failed = (err: unknown) => log.error({ err, node }, 'A node cannot be told of its names.')
          gateway.renew(node).catch(failed)
        },
        log,
      }
      const registration = new Registration(services, { ...rules, domain, allowed: config.nodes })
      routes((app) => registrationRoutes(app, registration, address, requestsPerMinute))
    }
    onServing(async () => {
      await gateway.start()
      if (domain !== undefined) origins.add(id, gateway.urlOf(domain))
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

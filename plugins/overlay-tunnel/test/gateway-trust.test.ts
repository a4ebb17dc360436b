import type { Log, OverlayNode, StateStore } from '@nodekeep/plugin-sdk'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { test } from 'tap'
import { GatewayTrust } from '../src/gateway-trust.ts'
import { NameRegistration } from '../src/name-registration.ts'
import { TunnelNetwork } from '../src/tunnel-network.ts'
import { startIdentityNode } from './fixtures/identity-node.ts'
import { ScriptedGateway } from './fixtures/scripted-gateway.ts'

test('a node whose state cannot be written stays at its gateway, and the log tells', async (t) => {
  const lender = await startIdentityNode()
  const gateway = await ScriptedGateway.start(lender.identity)
  const full = new Error('The disk is full.')
  const state = { get: async () => undefined, set: () => Promise.reject(full) } as unknown as StateStore
  const logged = Promise.withResolvers<unknown>()
  const silent = () => {}
  const log = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: logged.resolve,
  } as unknown as Log
  const address = { host: '127.0.0.1', port: gateway.port }
  const trust = await GatewayTrust.load(address, undefined, state, log)
  const tls = () => tunnelTls(lender.identity)
  const { identity } = lender
  const registration = new NameRegistration(null, identity, state, log)
  const services = { address, trust, tls, name: null, registration, maxConnections: 10, log }
  const network = new TunnelNetwork(services)
  const leaving = new AbortController()
  const node: OverlayNode = { endsTls: true, statusChanged() {}, serve() {} }
  const joined = network.join(node, leaving.signal)
  t.teardown(async () => {
    leaving.abort()
    await joined
    gateway.close()
    await lender.node.stop()
  })
  await gateway.control(1)
  t.match(await logged.promise, { err: full })
  t.equal(trust.check(lender.identity.nodeId), lender.identity.nodeId)
  t.throws(() => trust.check('1'.repeat(43)), /Another machine may stand between/)
})

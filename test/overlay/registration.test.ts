import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { definePlugin, NodeIdentity } from '@nodekeep/plugin-sdk'
import { tunnelTls, writeLine } from '@nodekeep/plugin-sdk/tunnel'
import { appendSignature, createSignature } from 'http-message-sig'
import { test } from 'tap'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const domain = 'example.test'
const own = { cert: certificateFile('node', 'crt'), key: certificateFile('node', 'key') }
const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }

/** Signs a request to a gateway with the key of a node, as README of the plugin `gateway` shows. */
async function signed(identity: NodeIdentity, asked: Request): Promise<Headers> {
  const body = Buffer.from(await asked.clone().arrayBuffer())
  const hasBody = body.length > 0
  if (hasBody) asked.headers.set('content-digest', `sha-256=:${hash('sha256', body, 'base64')}:`)
  const fields = await createSignature(asked, {
    components: ['@method', '@target-uri', ...(hasBody ? ['content-digest'] : [])],
    parameters: {
      created: Math.floor(Date.now() / 1000),
      nonce: randomBytes(16).toString('base64url'),
      keyid: identity.did,
    },
    signer: { algorithm: 'ed25519', sign: (bytes) => identity.sign(bytes) },
  })
  return appendSignature(asked.headers, fields)
}

test('a node gets and gives back a name over its tunnel port, and clients reach it by this name', async (t) => {
  const gateway = await startGateway(t, { gateway: { domain, tls } })
  const found = Promise.withResolvers<NodeIdentity>()
  const telling = definePlugin({
    id: 'telling',
    requires: { identity: NodeIdentity },
    setup: ({ identity }) => found.resolve(identity),
  })
  const config = { overlay: { tls: own } }
  const { log } = await startTunnelNode(t, gateway, { plugins: [telling, streams], config })
  const identity = await found.promise
  const { httpsPort: port, controlPort } = gateway

  /** Asks the gateway's API over a connection of the node. */
  async function askApi(method: string, path: string, body?: unknown) {
    const asked = new Request(`https://${domain}:${port}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const headers = await signed(identity, asked)
    const socket = connect({ host: '127.0.0.1', port: controlPort, ...(await tunnelTls(identity)) })
    t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    socket.write(writeLine({ purpose: 'api' }))
    const asking = request({
      createConnection: () => socket,
      method,
      path,
      headers: { ...Object.fromEntries(headers), host: `${domain}:${port}`, connection: 'close' },
    })
    asking.end(await asked.text())
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    return { status: response.statusCode, body: JSON.parse(await text(response)) }
  }

  await log.line(/^Clients reach the node at http:\/\/127\.0\.0\.1:/)
  const me = { subdomain: 'me', endpoint: `overlay://${identity.nodeId}` }
  t.strictSame(await askApi('POST', '/api/gateway/register', me), {
    status: 200,
    body: { success: true, subdomain: 'me', url: `https://me.${domain}:${port}` },
  })
  await log.line(/^The gateway also forwards https:\/\/me\.example\.test/)
  const answer = await askHttps({ port, name: `me.${domain}`, of: 'node', path: '/streams/mirror' })
  t.match(JSON.parse(answer.body), { ip: '127.0.0.1', protocol: 'https' })
  const status = await askHttps({ port, name: domain, of: 'gateway', path: '/api/gateway/status/me' })
  t.match(JSON.parse(status.body), { registered: true, connected: true })

  t.equal((await askApi('DELETE', '/api/gateway/register/me')).status, 200)
  const gone = await askHttps({ port, name: `me.${domain}`, of: 'gateway', path: '/streams/mirror' })
  t.match(JSON.parse(gone.body), { error: true, code: 'NOT_FOUND' })
})

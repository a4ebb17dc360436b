import { test } from 'tap'
import { ask } from './fixtures/http-client.ts'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
const domain = 'example.test'
const name = 'me.example.test'

test('TLS ends on the node if it has a certificate', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { me: me.nodeId } } })
  const own = { cert: certificateFile('node', 'crt'), key: certificateFile('node', 'key') }
  const { log } = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    config: { overlay: { tls: own } },
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await log.line(/^Clients reach the node at https:\/\/me\.example\.test/)
  const port = gateway.httpsPort

  const answer = await askHttps({ port, name, of: 'node', path: '/streams/mirror' })
  t.same(JSON.parse(answer.body), { ip: '127.0.0.1', protocol: 'https', host: `${name}:${port}` })
  await t.rejects(askHttps({ port, name, of: 'gateway' }), /self-signed/, 'the gateway is not in between')

  const other = await askHttps({
    port,
    name,
    of: 'node',
    path: '/streams/mirror',
    headers: { host: 'other.example.test' },
  })
  t.equal(other.status, 421, 'a request for another host')
})

test('TLS ends at the gateway if only the gateway has a certificate', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { me: me.nodeId } } })
  const { log, status } = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await log.line(/^Clients reach the node at https:\/\/me\.example\.test/)
  t.match(await status(), { connected: true })
  const port = gateway.httpsPort

  const answer = await askHttps({ port, name, of: 'gateway', path: '/streams/mirror' })
  t.same(JSON.parse(answer.body), { ip: '127.0.0.1', protocol: 'https', host: `${name}:${port}` })
  const other = await askHttps({
    port,
    name,
    of: 'gateway',
    path: '/streams/mirror',
    headers: { host: domain },
  })
  t.equal(other.status, 421, 'a request for another host')
})

test('the gateway answers itself where no node does', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { me: me.nodeId } } })
  const port = gateway.httpsPort

  const missing = await askHttps({ port, name: 'nobody.example.test', of: 'gateway' })
  t.equal(missing.status, 404)
  t.match(JSON.parse(missing.body), { error: true, code: 'NOT_FOUND' })
  t.match(missing.headers, { 'content-type': 'application/json; charset=utf-8', connection: 'close' })

  const away = await askHttps({ port, name, of: 'gateway' })
  t.equal(away.status, 503)
  t.equal(away.headers['retry-after'], '10')
  t.match(JSON.parse(away.body), { error: true, code: 'SERVICE_UNAVAILABLE' })

  const api = await askHttps({ port, name: domain, of: 'gateway', path: '/health' })
  t.match(JSON.parse(api.body), { status: 'ok' }, 'its own API')

  const plain = await fetch(`http://127.0.0.1:${port}/`)
  t.equal(plain.status, 400, 'plain HTTP at the port of https')
  t.match(await plain.json(), { error: true, code: 'VALIDATION_ERROR' })
})

test('without a certificate, the gateway knows no name itself', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, names: { me: me.nodeId } } })
  await startTunnelNode(t, gateway, me)
  for (const name of ['nobody.example.test', 'me.example.test', domain, 'elsewhere.test', '']) {
    await t.rejects(askHttps({ port: gateway.httpsPort, name, of: 'gateway' }), /unrecognized.name/i, name)
  }
})

test('plain HTTP is redirected to https, and to nothing else', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, {
    gateway: { domain, names: { me: me.nodeId }, https: { host: '127.0.0.1', port: 0, publicPort: 443 } },
  })
  const known = await ask(gateway.httpPort, '/files?path=/a%20b', { headers: { host: 'me.example.test' } })
  t.equal(known.status, 308)
  t.equal(known.headers.location, 'https://me.example.test/files?path=/a%20b')
  t.equal(
    (await ask(gateway.httpPort, '/', { headers: { host: 'example.test' } })).headers.location,
    'https://example.test/',
  )
  for (const host of ['nobody.example.test', 'elsewhere.test', 'me.example.test.evil.test']) {
    const unknown = await ask(gateway.httpPort, '/', { headers: { host } })
    t.equal(unknown.status, 404, host)
    t.match(JSON.parse(unknown.body), { error: true, code: 'NOT_FOUND' })
  }
})

test('a node may connect at the https port', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { me: me.nodeId } } })
  const { log } = await startTunnelNode(
    t,
    { controlPort: gateway.httpsPort },
    {
      ...me,
      plugins: [streams],
      tunnel: { name: `${name}:${gateway.httpsPort}` },
    },
  )
  await log.line(/^Clients reach the node at https:\/\/me\.example\.test/)
  const answer = await askHttps({ port: gateway.httpsPort, name, of: 'gateway', path: '/streams/mirror' })
  t.match(JSON.parse(answer.body), { ip: '127.0.0.1' })
})

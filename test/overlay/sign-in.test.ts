import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'tap'
import { proofOf, trustingLogin, wallet } from '../sign-in/fixtures/trusting-login.ts'
import { ask } from './fixtures/http-client.ts'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const name = 'me.example.test'

test('people claim a node and sign in at its https address, and not over plain HTTP', async (t) => {
  const me = await knownNode(t)
  const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
  const gateway = await startGateway(t, {
    gateway: { domain: 'example.test', tls, names: { me: me.nodeId } },
  })
  const node = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [trustingLogin],
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await node.log.line(/^Clients reach the node at https:/)
  await node.log.line(/^Clients reach the node at http:/)
  const port = gateway.httpsPort
  const origin = `https://${name}:${port}`
  const { method, headers, body } = proofOf(wallet(7))
  const claim = node.node.claimCode()
  t.ok(claim, 'the node has no owner yet')

  const signedIn = await askHttps({
    port,
    name,
    of: 'gateway',
    path: '/auth/test',
    method,
    headers: { ...headers, origin },
    body: JSON.stringify({ ...JSON.parse(body), claim }),
  })
  t.equal(signedIn.status, 200)
  t.equal(node.node.claimCode(), null, 'the first user is the owner')
  t.match(String(signedIn.headers['set-cookie']), /session=.*; Secure/)
  const { sessionToken } = JSON.parse(signedIn.body) as { sessionToken: string }
  const authorization = `Bearer ${sessionToken}`
  const who = await askHttps({ port, name, of: 'gateway', path: '/whoami', headers: { authorization } })
  t.match(JSON.parse(who.body), { user: { authenticated: true } })

  const [cookie = ''] = (signedIn.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0] ?? '')
  const byCookie = await askHttps({ port, name, of: 'gateway', path: '/whoami', headers: { cookie } })
  t.match(JSON.parse(byCookie.body), { user: { authenticated: true } }, 'the cookie comes back')
  const stranger = await askHttps({ port, name, of: 'gateway', path: '/whoami' })
  t.notMatch(JSON.parse(stranger.body), { user: { authenticated: true } }, 'another client has none of it')

  const foreign = await askHttps({
    port,
    name,
    of: 'gateway',
    path: '/auth/test',
    method,
    headers: { ...headers, origin: 'https://evil.example.test' },
    body,
  })
  t.equal(foreign.status, 403, 'a page of another site')

  const plain = await fetch(`http://127.0.0.1:${gateway.firstPort}/auth/test`, proofOf(wallet(7)))
  t.equal(plain.status, 403)
  t.match(await plain.json(), { error: true, code: 'FORBIDDEN', message: /not encrypted.*https/ })
  const home = await node.node.fetch('/auth/test', proofOf(wallet(7)))
  t.equal(home.status, 200, 'at home, on loopback, people sign in as before')
  const health = await ask(gateway.firstPort, '/health')
  t.equal(health.status, 200, 'everything else works there')
})

test('limits count each client, and not the tunnel', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway)
  await node.log.line(/^Clients reach/)
  const statuses = async (localAddress: string) => {
    const path = `/api/overlay/address-proof/${'0'.repeat(32)}`
    const answers = []
    for (let at = 0; at < 125; at += 1)
      answers.push((await ask(gateway.firstPort, path, { localAddress })).status)
    return new Set(answers)
  }
  t.same(await statuses('127.0.0.2'), new Set([200, 429]))
  t.equal(
    (
      await ask(gateway.firstPort, `/api/overlay/address-proof/${'0'.repeat(32)}`, {
        localAddress: '127.0.0.3',
      })
    ).status,
    200,
  )
})

test('only a proxy of the configuration says in the PROXY protocol from where a client comes', async (t) => {
  const gateway = await startGateway(t, { gateway: { proxyProtocol: ['127.0.0.2'] } })
  const { log } = await startTunnelNode(t, gateway)
  await log.line(/^Clients reach/)
  const answerTo = (localAddress: string) => {
    const socket = connect({ host: '127.0.0.1', port: gateway.firstPort, localAddress })
    socket.write('PROXY TCP4 203.0.113.7 198.51.100.1 56324 443\r\n')
    socket.write('GET /whoami HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    return text(socket)
  }
  const from = log.mark
  t.match(await answerTo('127.0.0.3'), /^HTTP\/1.1 400 /, 'a client cannot say it')
  t.notOk(log.fields('ip', from).includes('203.0.113.7'))
  t.match(await answerTo('127.0.0.2'), /^HTTP\/1.1 200 /)
  t.ok(log.fields('ip', from).includes('203.0.113.7'))
})

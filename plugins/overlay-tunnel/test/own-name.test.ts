import { test } from 'tap'
import { ownName } from '../src/own-name.ts'
import { startTunnel } from './fixtures/tunnel-subject.ts'

test('the name of a node has a subdomain, the domain of the gateway, and a port if it is not 443', async (t) => {
  t.same(ownName('me.example.org'), {
    host: 'me.example.org',
    subdomain: 'me',
    gatewayHost: 'example.org',
    origin: 'https://me.example.org',
  })
  t.same(ownName('Me.Nodes.Example.org:8443'), {
    host: 'me.nodes.example.org:8443',
    subdomain: 'me',
    gatewayHost: 'nodes.example.org:8443',
    origin: 'https://me.nodes.example.org:8443',
  })
})

test('a name that is none is a mistake of the configuration', async (t) => {
  const wrong = ['me', '', '192.0.2.1', 'https://me.example.org', 'me.example.org/', 'me@example.org', '.org']
  for (const name of [...wrong, 'me..org', 'me.example.org:443', 'a b.example.org']) {
    t.throws(() => ownName(name), /"overlay-tunnel\.name" must be the whole name/, name)
  }
  await t.rejects(
    startTunnel({ gateway: 'gateway.example.org', name: 'me' }),
    /"overlay-tunnel\.name" must be/,
  )
})

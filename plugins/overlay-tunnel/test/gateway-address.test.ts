import { test } from 'tap'
import { gatewayAddress } from '../src/gateway-address.ts'

test('a gateway is a host, with or without a port', async (t) => {
  for (const [text, host, port] of [
    ['gateway.example.org', 'gateway.example.org', 8090],
    ['Gateway.Example.org', 'gateway.example.org', 8090],
    ['gateway.example.org:443', 'gateway.example.org', 443],
    ['192.0.2.1', '192.0.2.1', 8090],
    ['[2001:db8::1]', '2001:db8::1', 8090],
    ['[2001:db8::1]:9000', '2001:db8::1', 9000],
  ] as const) {
    t.same(gatewayAddress(text), { host, port }, text)
  }
  for (const text of [
    'https://gateway.example.org',
    'gateway.example.org/',
    'user@gateway.example.org',
    'gateway.example.org:99999',
    'gateway example',
    ':443',
    '2001:db8::1',
  ]) {
    t.throws(() => gatewayAddress(text), /"overlay-tunnel.gateway" must be/, text)
  }
})

import t from 'tap'
import { networkOf } from '../src/network-of.ts'

t.test('the network of an address names no device', async (t) => {
  t.equal(networkOf('203.0.113.7'), '203.0.113.0/24')
  t.equal(networkOf('::ffff:203.0.113.7'), '203.0.113.0/24')
  t.equal(networkOf('2001:db8:1:2::7'), '2001:db8:1::/48')
  t.equal(networkOf('::1'), '0:0:0::/48')
  t.equal(networkOf(undefined), 'unknown')
})

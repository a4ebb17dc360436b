import { addressGroup } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'

test('all notations of the address of a client have one group', async (t) => {
  for (const [group, ...forms] of [
    ['192.0.2.7', '192.0.2.7', '::ffff:192.0.2.7', '::FFFF:c000:207', '0:0:0:0:0:ffff:192.0.2.7'],
    ['2001:db8:0:1::/64', '2001:db8:0:1::1', '2001:0DB8:0000:0001:ffff::2', '2001:db8::1:0:0:0:3'],
    ['0:0:0:0::/64', '::1', '::', '0::2'],
    ['fe80:0:0:0::/64', 'fe80::1%eth0', 'fe80::2'],
    ['64:ff9b:0:0::/64', '64:ff9b::1.2.3.4'],
    ['unknown', '', 'localhost', '1.2.3', '<script>', 'x'.repeat(10_000), undefined],
  ] as const) {
    for (const form of forms) t.equal(addressGroup(form), group, String(form))
  }
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const group = addressGroup(address)
      return /^[0-9a-f:]+::\/64$/.test(group) || /^\d+(\.\d+){3}$/.test(group)
    }),
  )
  fc.assert(
    fc.property(fc.ipV6(), (address) => addressGroup(address) === addressGroup(address.toUpperCase())),
  )
  fc.assert(fc.property(fc.ipV4(), (address) => addressGroup(`::ffff:${address}`) === address))
})

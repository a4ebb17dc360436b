import { test } from 'tap'
import { publicAddressOf } from '../../src/registration/public-address.ts'

const never = async () => {
  throw new Error('Nobody asks for this name.')
}
const refused = { code: 'VALIDATION_ERROR', message: /no public address/ }

test('only addresses of the internet count', async (t) => {
  for (const host of [
    '127.0.0.1',
    '127.8.9.10',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[ff02::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[2001:2::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[4000::1]',
  ])
    await t.rejects(publicAddressOf(new URL(`https://${host}`), never), refused, host)
  for (const [host, address] of [
    ['8.8.8.8', '8.8.8.8'],
    ['198.41.0.4', '198.41.0.4'],
    ['172.32.0.1', '172.32.0.1'],
    ['[2606:4700::1111]', '2606:4700::1111'],
    ['134744072', '8.8.8.8'],
  ] as const)
    t.equal(await publicAddressOf(new URL(`https://${host}`), never), address, host)
})

test('a name counts if all of its addresses are of the internet', async (t) => {
  const url = new URL('https://node.example.net')
  t.equal(await publicAddressOf(url, async () => ['8.8.8.8', '2606:4700::1111']), '8.8.8.8')
  for (const addresses of [
    [],
    ['127.0.0.1'],
    ['8.8.8.8', '10.0.0.1'],
    ['10.0.0.1', '8.8.8.8'],
    ['8.8.8.8', '::1'],
    ['nonsense'],
  ])
    await t.rejects(
      publicAddressOf(url, async () => addresses),
      refused,
      addresses.join(),
    )
  await t.rejects(publicAddressOf(url, never), refused, 'a name that does not exist')
})

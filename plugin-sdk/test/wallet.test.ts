import { parseWallet } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'

/** The addresses of the test cases of EIP-55: https://eips.ethereum.org/EIPS/eip-55 */
const vectors = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

test('Addresses get the mixed case of the test cases of EIP-55', async (t) => {
  for (const address of vectors) {
    t.equal(parseWallet(address), address)
    t.equal(parseWallet(address.toLowerCase()), address)
    t.equal(parseWallet(`0x${address.slice(2).toUpperCase()}`), address)
  }
})

test('Mixed case with a wrong checksum is no address', async (t) => {
  const mixed = vectors.filter((address) => /[a-f]/.test(address) && /[A-F]/.test(address))
  t.equal(mixed.length, 4)
  for (const address of mixed) {
    for (let at = 2; at < address.length; at += 1) {
      const digit = address.charAt(at)
      const flipped = digit < 'a' ? digit.toLowerCase() : digit.toUpperCase()
      if (flipped === digit) continue
      t.equal(parseWallet(address.slice(0, at) + flipped + address.slice(at + 1)), null)
    }
  }
})

test('Every address reads back as itself', async (t) => {
  const bytes = fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((raw) => `0x${Buffer.from(raw).toString('hex')}`)
  fc.assert(
    fc.property(bytes, (address) => {
      const wallet = parseWallet(address)
      return wallet !== null && wallet.toLowerCase() === address && parseWallet(wallet) === wallet
    }),
  )
  t.pass()
})

test('A text in another form is no address', async (t) => {
  const [good = ''] = vectors
  for (const text of [
    '',
    '0x',
    good.slice(2),
    good.slice(0, -1),
    `${good}0`,
    ` ${good}`,
    `${good}\n`,
    `0X${good.slice(2)}`,
    good.replace('5', 'g'),
    good.replace('5', '５'),
  ])
    t.equal(parseWallet(text), null, JSON.stringify(text))
})

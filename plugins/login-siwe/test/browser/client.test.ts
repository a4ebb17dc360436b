import {
  addressOf,
  checksumAddress,
  newKey,
  readKey,
  signText,
  siweCredentials,
  siweMessage,
  textOfKey,
} from '@nodekeep/login-siwe/client'
import { getAddress, Wallet } from 'ethers'
import fc from 'fast-check'
import { SiweMessage } from 'siwe'
import { test } from 'tap'

const answer = {
  nonce: 'f'.repeat(32),
  expires: '2030-01-01T00:00:00.000Z',
  domain: '127.0.0.1:4200',
  uri: 'http://127.0.0.1:4200',
  chainId: 1,
  statement: 'Sign in to this Nodekeep node.',
}
const address = '0x52908400098527886E0F7030069857D2E4169EE7'
const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => {
  return `0x${Buffer.from(bytes).toString('hex')}`
})

test('Addresses get their checksum', async (t) => {
  fc.assert(fc.property(addresses, (text) => checksumAddress(text) === getAddress(text)))
  for (const wrong of ['', '0x', address.slice(2), `${address}0`, address.replace('0x5', '0xg')]) {
    t.throws(() => checksumAddress(wrong), { message: /0x and 40 hexadecimal digits/ }, wrong)
  }
})

test('The message equals the message of the reference implementation', async (t) => {
  const issuedAt = new Date('2026-11-20T10:00:00.000Z')
  const text = siweMessage({ ...answer, address: address.toLowerCase(), issuedAt })
  const parsed = new SiweMessage(text)
  t.match(parsed, { address, domain: answer.domain, uri: answer.uri, chainId: 1, nonce: answer.nonce })
  t.equal(parsed.issuedAt, issuedAt.toISOString())
  t.equal(parsed.toMessage(), text)
})

test('The credentials contain the signed message', async (t) => {
  let signed = ''
  const sign = async (message: string) => {
    signed = message
    return '0xABCD'
  }
  const { uuid, address: sent, token } = await siweCredentials(answer, address.toLowerCase(), sign)
  t.equal(uuid, `eip155:1:${address}`)
  t.equal(sent, address)
  t.strictSame(JSON.parse(Buffer.from(token, 'base64url').toString()), {
    message: signed,
    signature: '0xabcd',
  })
  t.equal(Buffer.from(token, 'base64url').toString('base64url'), token, 'The token has no padding.')

  const elsewhere = await siweCredentials(answer, address, sign, { chainId: 10 })
  t.equal(elsewhere.uuid, `eip155:10:${address}`)
  t.match(signed, /^Chain ID: 10$/m)
})

test('A key has the address and the signatures that the reference implementation has', async (t) => {
  for (const text of ['', 'Sign in.', 'Straße\n🔑', 'x'.repeat(1000)]) {
    const key = newKey()
    const wallet = new Wallet(textOfKey(key))
    t.equal(addressOf(key), wallet.address)
    t.equal(signText(key, text), await wallet.signMessage(text))
  }
})

test('A key is read with or without 0x, and nothing else is one', async (t) => {
  const key = newKey()
  const digits = textOfKey(key).slice(2)
  for (const text of [digits, `0x${digits}\n`, ` ${digits.toUpperCase()}`]) t.strictSame(readKey(text), key)
  for (const text of ['', '0x', digits.slice(1), `${digits}0`, '0'.repeat(64), 'f'.repeat(64)])
    t.equal(readKey(text), null)
})

import { SigningKey, Wallet } from 'ethers'
import fc from 'fast-check'
import { test } from 'tap'
import { isSignedByKey, loadEthereum } from '../src/ethereum.ts'
import { highS } from './fixtures/wallet.ts'

const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
  .filter((hex) => BigInt(hex) > 0n && BigInt(hex) < 2n ** 255n)

test('A signature is valid only for its key and its text', async (t) => {
  const ethereum = await loadEthereum()
  const property = fc.property(key, fc.string({ maxLength: 200 }), (hex, text) => {
    const wallet = new Wallet(new SigningKey(hex))
    const signature = wallet.signMessageSync(text)
    const v = signature.endsWith('1b') ? '00' : '01'
    const other = signature.endsWith('1b') ? '1c' : '1b'
    const is = (bytes: string, of = text) => isSignedByKey(of, bytes, wallet.address, ethereum)
    return (
      is(signature) &&
      is(signature.slice(0, -2) + v) &&
      !is(signature.slice(0, -2) + other) &&
      !is(highS(signature)) &&
      !is(signature, `${text}.`)
    )
  })
  fc.assert(property, { numRuns: 30 })
  t.pass()
})

test('Numbers out of range are not a signature of any key', async (t) => {
  const ethereum = await loadEthereum()
  const wallet = Wallet.createRandom()
  const word = (n: bigint) => n.toString(16).padStart(64, '0')
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  for (const [r, s] of [
    [0n, 1n],
    [1n, 0n],
    [order, 1n],
    [order - 1n, 1n],
    [5n, 1n],
    [2n ** 256n - 1n, 1n],
  ] as const) {
    for (const v of ['1b', '1c']) {
      t.notOk(isSignedByKey('text', `0x${word(r)}${word(s)}${v}`, wallet.address, ethereum))
    }
  }
})

import { AbiCoder, concat, getCreate2Address, Interface, keccak256, ZeroHash } from 'ethers'
import { test } from 'tap'
import { code, contractWallet, createChainAndNode, owner, walletCode } from './fixtures/key-wallet.ts'
import { credentials, highS, Wallet } from './fixtures/wallet.ts'

const other = Wallet.createRandom()
const predeploySuffix = `0x${'6492'.repeat(16)}`

/** Returns a wallet that a factory has not deployed yet, with its signatures (ERC-6492). */
function counterfactual(factory: string, signer = owner, call = factoryCall()) {
  const address = getCreate2Address(factory, ZeroHash, keccak256(walletCode()))
  return contractWallet(address, async (text) => {
    const wrapped = AbiCoder.defaultAbiCoder().encode(
      ['address', 'bytes', 'bytes'],
      [factory, call, await signer.signMessage(text)],
    )
    return concat([wrapped, predeploySuffix])
  })
}

function factoryCall(): string {
  const factory = new Interface(['function create(address owner, bytes32 salt)'])
  return factory.encodeFunctionData('create', [owner.address, ZeroHash])
}

test('The wallet of a contract signs in (ERC-1271)', async (t) => {
  const { chain, nonce, signIn } = await createChainAndNode(t)
  const address = await chain.deploy(walletCode())
  t.match(await signIn(await credentials(await nonce(), contractWallet(address))), { status: 200 })
  const forged = await credentials(
    await nonce(),
    contractWallet(address, (text) => other.signMessage(text)),
  )
  t.match(await signIn(forged), { status: 401, message: /neither from the key nor from the contract/ })
  const short = await credentials(await nonce(), contractWallet(address), { signature: () => '0x1234' })
  t.match(await signIn(short), { status: 401, message: /neither from the key nor from the contract/ })
})

test('A contract that is not a wallet does not sign in with any answer', async (t) => {
  const { chain, nonce, signIn } = await createChainAndNode(t)
  for (const name of ['Reverting', 'Truthful', 'Echo', 'Endless', 'Factory']) {
    const address = await chain.deploy(code[name] ?? '')
    const answer = await signIn(await credentials(await nonce(), contractWallet(address)))
    t.match(answer, { status: 401, message: /neither from the key nor from the contract/ }, name)
  }
  const empty = await signIn(await credentials(await nonce(), contractWallet(other.address)))
  t.match(empty, { status: 401 }, 'An address without code does not sign in.')
})

test('A wallet signs in before its deployment (ERC-6492), and the sign-in does not deploy it', async (t) => {
  const { chain, nonce, signIn } = await createChainAndNode(t)
  const factory = await chain.deploy(code.Factory ?? '')
  const wallet = counterfactual(factory)
  t.match(await signIn(await credentials(await nonce(), wallet)), { status: 200 })
  t.notOk(await chain.hasCode(wallet.address))

  const wrong = {
    'another signer': counterfactual(factory, other),
    'a call that makes nothing': counterfactual(factory, owner, '0x'),
    'the address of a key': { ...counterfactual(factory), address: other.address },
    'a factory that is none': counterfactual(await chain.deploy(code.Truthful ?? '')),
    'a suffix without signature': contractWallet(wallet.address, async () => predeploySuffix),
  }
  for (const [name, forged] of Object.entries(wrong)) {
    t.match(await signIn(await credentials(await nonce(), forged)), { status: 401 }, name)
  }
})

test('The chain does not verify a signature of a key with a high s', async (t) => {
  const { nonce, signIn, chain } = await createChainAndNode(t)
  t.match(await signIn(await credentials(await nonce(), owner, { signature: highS })), { status: 401 })
  t.strictSame(chain.asked, ['eth_chainId', 'eth_call'])
})

test('The signature of a key needs no request to the chain', async (t) => {
  const { nonce, signIn, chain } = await createChainAndNode(t)
  t.match(await signIn(await credentials(await nonce(), owner)), { status: 200 })
  t.strictSame(chain.asked, [])
  chain.answer = () => {}
  t.match(await signIn(await credentials(await nonce(), owner)), { status: 200 })
})

test('Without an endpoint of the chain, the error for contracts names the solution', async (t) => {
  const { nonce, signIn, chain } = await createChainAndNode(t, () => ({}))
  const address = await chain.deploy(walletCode())
  const answer = await signIn(await credentials(await nonce(), contractWallet(address)))
  t.match(answer, { status: 401, message: /need "rpcUrls" of their chain/ })
})

import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { AbiCoder, concat, getCreate2Address, Interface, keccak256, ZeroHash } from 'ethers'
import { type Test, test } from 'tap'
import { type Chain, startChain } from './fixtures/chain.ts'
import { compileContracts } from './fixtures/contracts.ts'
import { type LoginNode, startLoginNode } from './fixtures/login-node.ts'
import { credentials, Wallet } from './fixtures/wallet.ts'

const code = compileContracts()
const owner = Wallet.createRandom()
const other = Wallet.createRandom()
const abi = AbiCoder.defaultAbiCoder()
const predeploySuffix = `0x${'6492'.repeat(16)}`

/** A wallet at an address, whose signatures come from somewhere else. */
function contractWallet(address: string, sign: (text: string) => Promise<string>) {
  return { address, signMessage: sign }
}

const bySigner = (address: string, signer = owner) =>
  contractWallet(address, (text) => signer.signMessage(text))

const walletCode = () => concat([code.KeyWallet ?? '', abi.encode(['address'], [owner.address])])

async function startAll(
  t: Pick<Test, 'after'>,
  section: (chain: Chain) => object = (chain) => ({ rpcUrls: { 1: chain.url } }),
  options = {},
): Promise<LoginNode & { chain: Chain }> {
  const chain = await startChain()
  const login = await startLoginNode({ ...section(chain) }, options)
  t.after(async () => {
    await login.node.stop()
    await chain.close()
  })
  return { ...login, chain }
}

/** The wallet that a factory will make, and its signatures until then (ERC-6492). */
function counterfactual(factory: string, signer = owner, call = factoryCall()) {
  const address = getCreate2Address(factory, ZeroHash, keccak256(walletCode()))
  return contractWallet(address, async (text) => {
    const wrapped = abi.encode(['address', 'bytes', 'bytes'], [factory, call, await signer.signMessage(text)])
    return concat([wrapped, predeploySuffix])
  })
}

function factoryCall(): string {
  const factory = new Interface(['function create(address owner, bytes32 salt)'])
  return factory.encodeFunctionData('create', [owner.address, ZeroHash])
}

test('the wallet of a contract signs in (ERC-1271)', async (t) => {
  const { chain, nonce, signIn } = await startAll(t)
  const address = await chain.deploy(walletCode())
  t.match(await signIn(await credentials(await nonce(), bySigner(address))), { status: 200 })
  const forged = await credentials(await nonce(), bySigner(address, other))
  t.match(await signIn(forged), { status: 401, message: /neither from the key nor from the contract/ })
  const short = await credentials(await nonce(), bySigner(address), { signature: () => '0x1234' })
  t.match(await signIn(short), { status: 401, message: /neither from the key nor from the contract/ })
})

test('who is no wallet does not sign in, whatever it answers', async (t) => {
  const { chain, nonce, signIn } = await startAll(t)
  for (const name of ['Reverting', 'Truthful', 'Echo', 'Endless', 'Factory']) {
    const address = await chain.deploy(code[name] ?? '')
    const answer = await signIn(await credentials(await nonce(), bySigner(address)))
    t.match(answer, { status: 401, message: /neither from the key nor from the contract/ }, name)
  }
  const empty = await signIn(await credentials(await nonce(), bySigner(other.address)))
  t.match(empty, { status: 401 }, 'an address without code')
})

test('a wallet signs in before it is on the chain (ERC-6492), and is not put there', async (t) => {
  const { chain, nonce, signIn } = await startAll(t)
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

test('a high s of a key is not let in by way of the chain', async (t) => {
  const { nonce, signIn, chain } = await startAll(t)
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const highS = await credentials(await nonce(), owner, {
    signature: (low) => {
      const s = order - BigInt(`0x${low.slice(66, 130)}`)
      return `${low.slice(0, 66)}${s.toString(16).padStart(64, '0')}${low.endsWith('1b') ? '1c' : '1b'}`
    },
  })
  t.match(await signIn(highS), { status: 401 })
  t.strictSame(chain.asked, ['eth_chainId', 'eth_call'])
})

test('keys need no chain: it is not even asked', async (t) => {
  const { nonce, signIn, chain } = await startAll(t)
  t.match(await signIn(await credentials(await nonce(), owner)), { status: 200 })
  t.strictSame(chain.asked, [])
  chain.answer = () => {}
  t.match(await signIn(await credentials(await nonce(), owner)), { status: 200 })
})

test('a chain that can not be asked is told from a wrong signature', async (t) => {
  const { nonce, signIn, chain } = await startAll(t, ({ url }) => ({
    rpcUrls: { 1: url },
    rpcTimeoutMs: 300,
  }))
  const address = await chain.deploy(walletCode())
  let followed = false
  const faults: Record<string, NonNullable<Chain['answer']>> = {
    'an error page': (_request, response) => response.writeHead(500).end('<h1>Oh no</h1>'),
    'no JSON': (_request, response) => response.end('hello'),
    'JSON of another kind': (_request, response) => response.end('[]'),
    null: (_request, response) => response.end('null'),
    'a result that is no text': (_request, response) => response.end('{"result":{}}'),
    'an error of its own': (_request, response) =>
      response.end('{"error":{"code":-32005,"message":"limit exceeded"}}'),
    'a connection that breaks': (request) => request.socket.destroy(),
    'an answer cut short': (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"result":"0x')
      response.destroy()
    },
    'an endless answer': (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
      }
      response.on('drain', more).on('error', () => {})
      more()
    },
    'a redirect': (request, response) => {
      if (request.url === '/elsewhere') followed = true
      response.writeHead(307, { location: '/elsewhere' }).end()
    },
  }
  for (const [name, fault] of Object.entries(faults)) {
    chain.answer = fault
    const answer = await signIn(await credentials(await nonce(), bySigner(address)))
    t.match(answer, { status: 502, code: 'UPSTREAM_ERROR', message: /can not be asked now/ }, name)
  }
  t.notOk(followed, 'no redirect is followed')

  chain.answer = () => {}
  const silent = await signIn(await credentials(await nonce(), bySigner(address)))
  t.match(silent, { status: 504, code: 'UPSTREAM_TIMEOUT' })

  chain.answer = undefined
  t.match(await signIn(await credentials(await nonce(), bySigner(address))), { status: 200 }, 'and back')
})

test('an endpoint of another chain vouches for nobody', async (t) => {
  const { nonce, signIn, chain } = await startAll(t, ({ url }) => ({ rpcUrls: { 10: url } }))
  const address = await chain.deploy(walletCode())
  const body = await credentials(await nonce(), bySigner(address), { fields: { chainId: 10 } })
  t.match(await signIn(body), { status: 502, code: 'UPSTREAM_ERROR' })
  t.strictSame(chain.asked, ['eth_chainId'])
})

test('without an endpoint of the chain, contracts are told how', async (t) => {
  const { nonce, signIn, chain } = await startAll(t, () => ({}))
  const address = await chain.deploy(walletCode())
  const answer = await signIn(await credentials(await nonce(), bySigner(address)))
  t.match(answer, { status: 401, message: /need "rpcUrls" of their chain/ })
})

test('the address of an endpoint, which may hold a key, is never shown', async (t) => {
  const lines: string[] = []
  const section = ({ url }: Chain) => ({
    rpcUrls: { 1: `${url.replace('://', '://ada:pa55phrase@')}v3/9d1c77aa0b` },
  })
  const options = { onLog: (line: string) => lines.push(line), logLevel: 'trace' }
  const { nonce, signIn, chain } = await startAll(t, section, options)
  const seen: (string | undefined)[] = []
  chain.answer = (request, response) => {
    seen.push(request.url, request.headers.authorization)
    response.writeHead(403).end('no')
  }
  const answer = await signIn(await credentials(await nonce(), bySigner(`0x${'12'.repeat(20)}`)))
  t.equal(answer.status, 502)
  t.strictSame(seen, ['/v3/9d1c77aa0b', `Basic ${btoa('ada:pa55phrase')}`])
  t.notMatch(`${lines.join('\n')}${answer.message}`, /9d1c77aa0b|pa55phrase/)
  const refusal = await startLoginNode({ rpcUrls: { 1: 'https://9d1c77aa0b:x' } }).catch(String)
  t.match(refusal, /rpcUrls/)
  t.notMatch(refusal, /9d1c77aa0b/)
})

loginConformance(test, {
  singleUse: true,
  async setUp() {
    const chain = await startChain()
    const { node, provider, origin, nonce } = await startLoginNode({ rpcUrls: { 1: chain.url } })
    const wallet = bySigner(await chain.deploy(walletCode()))
    const make = async () => credentials(await nonce(), wallet)
    return {
      provider,
      origin,
      credentials: make,
      async stalled() {
        const asked = new Promise<void>((resolve) => {
          chain.answer = () => resolve()
        })
        return { credentials: await make(), asked }
      },
      async unreachable() {
        const body = await make()
        await chain.close()
        return body
      },
      async close() {
        await node.stop()
        await chain.close().catch(() => {})
      },
    }
  },
})

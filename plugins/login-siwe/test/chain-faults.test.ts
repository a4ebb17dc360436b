import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import t, { test } from 'tap'
import { type Chain, startChain } from './fixtures/chain.ts'
import { contractWallet, createChainAndNode, walletCode } from './fixtures/key-wallet.ts'
import { startLoginNode } from './fixtures/login-node.ts'
import { startLoginSubject } from './fixtures/login-subject.ts'
import { credentials } from './fixtures/wallet.ts'

// Two tests run at a time, because one waits for a silent chain.
t.jobs = 2

test('A chain that cannot be queried has another error than a wrong signature', async (t) => {
  const { nonce, signIn, chain } = await createChainAndNode(t, ({ url }) => ({
    rpcUrls: { 1: url },
    rpcTimeoutMs: 2000,
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
    const answer = await signIn(await credentials(await nonce(), contractWallet(address)))
    t.match(answer, { status: 502, code: 'UPSTREAM_ERROR', message: /cannot be queried now/ }, name)
  }
  t.notOk(followed, 'The provider follows no redirect.')

  chain.answer = () => {}
  const body = await credentials(await nonce(), contractWallet(address))
  const silent = await signIn(body)
  t.match(silent, { status: 504, code: 'UPSTREAM_TIMEOUT' })

  chain.answer = undefined
  t.match(await signIn(body), { status: 200 }, 'The same sign-in works when the chain answers again.')
})

test('An endpoint of another chain verifies no wallet', async (t) => {
  const { nonce, signIn, chain } = await createChainAndNode(t, ({ url }) => ({ rpcUrls: { 10: url } }))
  const address = await chain.deploy(walletCode())
  const body = await credentials(await nonce(), contractWallet(address), { fields: { chainId: 10 } })
  t.match(await signIn(body), { status: 502, code: 'UPSTREAM_ERROR' })
  t.strictSame(chain.asked, ['eth_chainId'])
})

test('The address of an endpoint, which may contain a key, is never shown', async (t) => {
  const lines: string[] = []
  const section = ({ url }: Chain) => ({
    rpcUrls: { 1: `${url.replace('://', '://ada:pa55phrase@')}v3/9d1c77aa0b` },
  })
  const options = { onLog: (line: string) => lines.push(line), logLevel: 'trace' }
  const { nonce, signIn, chain } = await createChainAndNode(t, section, options)
  const seen: (string | undefined)[] = []
  chain.answer = (request, response) => {
    seen.push(request.url, request.headers.authorization)
    response.writeHead(403).end('no')
  }
  const answer = await signIn(await credentials(await nonce(), contractWallet(`0x${'12'.repeat(20)}`)))
  t.equal(answer.status, 502)
  t.strictSame(seen, ['/v3/9d1c77aa0b', `Basic ${btoa('ada:pa55phrase')}`])
  t.notMatch(`${lines.join('\n')}${answer.message}`, /9d1c77aa0b|pa55phrase/)
  const refusal = await startLoginNode({ rpcUrls: { 1: 'https://9d1c77aa0b:x' } }).catch(String)
  t.match(refusal, /rpcUrls/)
  t.notMatch(refusal, /9d1c77aa0b/)
})

loginConformance(test, {
  boundToOrigin: true,
  async setUp() {
    const chain = await startChain()
    const wallet = contractWallet(await chain.deploy(walletCode()))
    const subject = await startLoginSubject(wallet, { rpcUrls: { 1: chain.url } })
    return {
      ...subject,
      async stalled() {
        const asked = new Promise<void>((resolve) => {
          chain.answer = () => resolve()
        })
        return { credentials: await subject.credentials(), asked }
      },
      async unreachable() {
        const body = await subject.credentials()
        await chain.close()
        return body
      },
      async close() {
        await subject.close()
        await chain.close().catch(() => {})
      },
    }
  },
})

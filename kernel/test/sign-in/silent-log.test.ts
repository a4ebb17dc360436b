import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'

const proof = 'proof-that-nobody-else-may-read'
const [ada, bob] = [wallet(1), wallet(2)]

/** A plugin that logs its requests with their secrets. */
const gossip = definePlugin({
  id: 'gossip',
  setup({ routes }) {
    routes((app) => {
      app.get('/gossip', { config: { scope: 'gossip' } }, async (request) => {
        request.log.trace({ headers: request.headers, query: request.query, user: request.user }, request.url)
        throw new Error(`It failed for ${request.headers.authorization} of ${request.headers.cookie}.`)
      })
    })
  },
})

test('the log contains no token, proof or claim code, at any level and after any error', async (t) => {
  const started = await startLoginNode(t, {
    unclaimed: true,
    plugins: [gossip],
    verify: async ({ uuid, address, token }) => {
      if (token === proof) return { uuid, address }
      throw new Error('The proof is wrong.', { cause: new Error(`of ${uuid}`) })
    },
  })
  const { node, log, fetch, send, as, signIn } = started
  const code = node.claimCode() ?? ''
  const secrets = [proof, 'a-wrong-proof', code, 'AAAA-BBBB-CCCC']
  await signIn(ada, { token: proof, claim: 'AAAA-BBBB-CCCC' })
  await signIn(ada, { token: 'a-wrong-proof', claim: code })
  await send('POST', '/auth/test', { uuid: 7, token: proof, claim: code, address: ada })
  await send('POST', `/auth/other?token=${proof}&claim=${code}`, { uuid: 'x', address: ada, token: proof })
  await fetch('/auth/test', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"token":"${proof}",`,
  })
  const { sessionToken } = await started.openSession(ada, { token: proof, claim: code })
  const second = (await started.openSession(bob, { token: proof })).sessionToken
  const newToken = { name: 'x', scopes: ['gossip'] }
  const made = await send('POST', '/api/account/tokens', newToken, {
    authorization: `Bearer ${sessionToken}`,
  })
  const { token: apiToken } = (await made.json()) as { token: string }
  secrets.push(sessionToken, second, apiToken)
  for (const token of [sessionToken, second, apiToken]) {
    t.equal((await as(token, '/gossip')).status, 500)
    await fetch('/gossip', { headers: { cookie: `session=${token}` } })
    await fetch(`/gossip?session=${token}&token=${token}`, {
      headers: { cookie: `a=b; session=${token}; c=d` },
    })
    await fetch(`/nowhere/${token}?x=${token}`)
    await as(`${token}x`, '/gossip')
    await as(token.slice(0, -1), '/gossip')
    await as(token, '/whoami')
  }
  await as(second, '/auth/logout', { method: 'POST' })
  await started.stop()

  const text = log.join('')
  t.match(text, /"level":"trace"/, 'the log has the lowest level')
  t.match(text, /It failed for/)
  for (const secret of secrets) {
    t.notOk(text.includes(secret), `${secret.slice(0, 6)}…`)
    t.notOk(text.includes(secret.slice(0, 30)), 'the log contains no long part of it')
    t.notOk(text.includes(Buffer.from(secret).toString('base64')))
  }
})

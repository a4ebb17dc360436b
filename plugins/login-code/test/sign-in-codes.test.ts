import t, { type Test, test } from 'tap'
import { startCodeNode } from './fixtures/code-node.ts'

t.jobs = 3

async function start(t: Test) {
  const login = await startCodeNode()
  t.after(() => login.node.stop())
  return login
}

test('a code signs in as the user who made it, once, as people type it', async (t) => {
  const { node, credentials, post, log } = await start(t)
  const ada = await node.signIn()
  const { uuid, address, token } = await credentials(ada)
  t.match(token, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
  const typed = ` ${token.replaceAll('-', '').replaceAll('0', 'o').replaceAll('1', 'l').toLowerCase()} `
  for (let look = 0; look < 2; look += 1) {
    const found = await post('/auth/code/account', { code: typed })
    t.strictSame(await found.json(), { uuid, address }, 'a look does not use the code')
  }
  const answer = await post('/auth/code', { uuid, address, token: typed })
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const { user, sessionToken } = (await answer.json()) as { user: { uuid: string }; sessionToken: string }
  t.equal(user.uuid, ada.user.uuid)
  const headers = { authorization: `Bearer ${sessionToken}` }
  t.equal((await node.fetch('/api/account/sessions', { headers })).status, 200)
  t.equal((await post('/auth/code', { uuid, address, token })).status, 401)
  t.equal((await post('/auth/code/account', { code: token })).status, 401)
  const events = log.map((line) => JSON.parse(line)).filter(({ event }) => event !== undefined)
  t.match(events[0], { event: 'sign-in-code-created', ip: '127.0.0.1', userUuid: uuid })
  t.match(events[1], { event: 'signed-in', provider: 'code', userUuid: uuid })
  t.notOk(
    log.some((line) => line.includes(token)),
    'the log has no code',
  )
})

test('a code belongs to one user', async (t) => {
  const { node, credentials, post } = await start(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const code = await credentials(ada)
  const foreign = { uuid: bob.user.uuid, address: bob.user.wallet, token: code.token }
  t.equal((await post('/auth/code', foreign)).status, 401)
  t.equal((await post('/auth/code', code)).status, 200, 'the refused attempt has not used it up')
})

test('only a session makes codes, and they end with any session of the user', async (t) => {
  const { node, credentials, post } = await start(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const path = '/api/account/sign-in-codes'
  t.equal((await node.fetch(path, { method: 'POST' })).status, 401)
  const [code, other] = [await credentials(ada), await credentials(bob)]
  t.equal((await ada.fetch('/auth/logout', { method: 'POST' })).status, 200)
  t.equal((await post('/auth/code', code)).status, 401)
  t.equal((await post('/auth/code', other)).status, 200, 'other users keep theirs')
})

test('a user has ten unused codes, the newest ones', async (t) => {
  const { node, credentials, post } = await start(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const other = await credentials(bob)
  const codes = []
  for (let made = 0; made < 11; made += 1) codes.push(await credentials(ada))
  const statuses = []
  for (const code of codes) statuses.push((await post('/auth/code', code)).status)
  t.strictSame(statuses, [401, ...Array(10).fill(200)])
  t.equal((await post('/auth/code', other)).status, 200)
})

test('an address may try 20 codes per minute', async (t) => {
  const { post } = await start(t)
  const statuses = []
  for (let tried = 0; tried < 21; tried += 1)
    statuses.push((await post('/auth/code/account', { code: `guess ${tried}` })).status)
  t.strictSame(statuses, [...Array(20).fill(401), 429])
})

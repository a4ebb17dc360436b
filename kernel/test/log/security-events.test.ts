import { readFile } from 'node:fs/promises'
import { definePlugin, NodekeepError } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { securityEvents } from '../../src/log/security-events.ts'
import { type LoginNodeOptions, startLoginNode, wallet } from '../fixtures/login-node.ts'

const [ada, bob] = [wallet(1), wallet(2)]
const ip = '127.0.0.1'

/** A plugin with a route for API tokens and a route with a limit. */
const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes((app) => {
      app.get('/notes', { config: { scope: 'notes:read' } }, async () => ({ notes: [] }))
      const rateLimit = { max: 1, timeWindow: 60_000 }
      app.get('/limited', { config: { rateLimit } }, async () => ({}))
      app.get('/moody', async () => {
        throw new NodekeepError('FORBIDDEN', 'Not today.')
      })
    })
  },
})

/** The parts of the node's answers that the tests read. */
interface Answer {
  readonly token: string
  readonly details: { readonly id: string }
  readonly sessions: readonly { readonly id: string }[]
}

/** Starts a node whose login provider refuses a wrong proof as a provider should. */
async function start(t: Test, options: LoginNodeOptions = {}) {
  const login = await startLoginNode(t, {
    plugins: [notes],
    verify: async ({ uuid, address, token }) => {
      if (token !== address) throw new NodekeepError('UNAUTHORIZED', 'The signature is wrong.')
      return { uuid, address }
    },
    ...options,
  })
  let read = 0
  /** Returns the lines since the last call. */
  const lines = () => {
    const since = login.log.slice(read).map((line) => JSON.parse(line) as Record<string, unknown>)
    read = login.log.length
    return since
  }
  const events = () => lines().filter(({ event, level }) => event !== undefined && level === 'info')
  return { ...login, lines, events }
}

test('the log at "info" tells who signed in, claimed the node and was refused, and from where', async (t) => {
  const login = await start(t, { unclaimed: true })
  const { node, signIn, openSession, as } = login
  const claim = node.claimCode() ?? ''
  await signIn(ada, { claim: 'AAAA-AAAA-AAAA' })
  const wrongClaim = { event: 'refused', ip, provider: 'test', wallet: ada, code: 'FORBIDDEN' }
  t.match(login.events(), [{ ...wrongClaim, path: '/auth/test', reason: 'The claim code is wrong.' }])
  await signIn(ada, { claim, token: 'a-wrong-proof' })
  t.match(login.events(), [{ ...wrongClaim, code: 'UNAUTHORIZED', reason: 'The signature is wrong.' }])

  const first = await openSession(ada, { claim })
  const who = { ip, user: first.user.username, userUuid: first.user.uuid, wallet: ada, provider: 'test' }
  t.match(login.events(), [
    { event: 'owner-claimed', ...who },
    { event: 'signed-in', ...who },
  ])
  const second = await openSession(bob)
  t.match(login.events(), [{ event: 'signed-in', user: second.user.username, wallet: bob }])

  await as(second.sessionToken, '/api/users')
  const { username: user, uuid: userUuid } = second.user
  t.match(login.events(), [{ event: 'refused', ip, user, userUuid, path: '/api/users', code: 'FORBIDDEN' }])
  await as(second.sessionToken, '/moody')
  t.match(login.events(), [{ event: 'refused', user, reason: 'Not today.', plugin: 'notes' }])
  await as(second.sessionToken, '/auth/logout', { method: 'POST' })
  t.match(login.events(), [{ event: 'signed-out', ip, user, userUuid }])
  await as(second.sessionToken, '/notes')
  t.match(
    login.events(),
    [{ event: 'refused', ip, path: '/notes', code: 'UNAUTHORIZED' }],
    'an ended session',
  )
  await login.fetch('/notes')
  t.same(login.events(), [], 'a request without a token tries nothing')
})

test('the log has every change of tokens, sessions, users and plugins', async (t) => {
  const config = { plugins: { notes: { required: false } } }
  const login = await start(t, { unclaimed: true, config })
  const claim = login.node.claimCode() ?? ''
  const owner = await login.openSession(ada, { claim })
  const other = await login.openSession(bob)
  login.events()
  const secrets = [claim, owner.sessionToken, other.sessionToken]
  const asOwner = async (method: string, path: string, body: unknown = null) => {
    const token = owner.sessionToken
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const sent = body === null ? {} : { headers, body: JSON.stringify(body) }
    const answer = await login.as(token, path, { method, ...sent })
    t.equal(answer.status, 200, `${method} ${path}`)
    return (await answer.json()) as Answer
  }

  const made = await asOwner('POST', '/api/account/tokens', { name: 'phone', scopes: ['notes:read'] })
  secrets.push(made.token)
  const tokenId = made.details.id
  const who = { ip, user: owner.user.username, userUuid: owner.user.uuid }
  t.match(login.events(), [
    { event: 'token-created', ...who, tokenId, name: 'phone', scopes: ['notes:read'], expires: /^2/ },
  ])
  await login.as(made.token, '/api/account/sessions')
  t.match(login.events(), [{ event: 'refused', ...who, path: '/api/account/sessions', code: 'FORBIDDEN' }])
  await asOwner('DELETE', `/api/account/tokens/${tokenId}`)
  t.match(login.events(), [{ event: 'token-revoked', ...who, tokenId }])

  const { sessions } = await asOwner('GET', `/api/users/${other.user.uuid}/sessions`)
  const session = sessions[0]?.id
  const target = { target: other.user.username, targetUuid: other.user.uuid }
  await asOwner('DELETE', `/api/users/${other.user.uuid}/sessions/${session}`)
  t.match(login.events(), [{ event: 'session-ended', ...who, session, targetUuid: target.targetUuid }])
  await asOwner('DELETE', `/api/users/${other.user.uuid}/sessions`)
  t.match(login.events(), [{ event: 'session-ended', ...who, ...target }])
  const byHand = await login.openSession(ada)
  secrets.push(byHand.sessionToken)
  login.events()
  await asOwner('DELETE', '/api/account/sessions')
  t.match(login.events(), [{ event: 'session-ended', ...who, ended: 1 }])

  await asOwner('POST', '/api/users', { wallet: other.user.wallet })
  t.match(login.events(), [{ event: 'user-added', ...who, ...target, wallet: other.user.wallet }])
  await asOwner('PATCH', `/api/users/${other.user.uuid}`, { disabled: true })
  t.match(login.events(), [{ event: 'user-changed', ...who, ...target, change: { disabled: true } }])
  await asOwner('DELETE', `/api/users/${other.user.uuid}`)
  t.match(login.events(), [{ event: 'user-deleted', ...who, ...target }])
  await asOwner('PATCH', '/api/account', { username: 'ada_2' })
  t.match(login.events(), [{ event: 'user-changed', ...who, username: 'ada_2' }])
  await asOwner('POST', '/api/system/plugins/notes/disable')
  t.match(login.events(), [{ event: 'plugin-switched', ip, user: 'ada_2', target: 'notes' }])
  for (const secret of secrets) t.notOk(login.log.join('').includes(secret))
})

test('limits are logged, with at most 101 lines a minute for one address', async (t) => {
  const config = { auth: { signInsPerMinute: 1 } }
  const login = await start(t, { config })
  const { sessionToken } = await login.openSession(ada)
  login.events()
  await login.signIn(ada)
  t.match(login.events(), [{ event: 'refused', ip, path: '/auth/test', code: 'TOO_MANY_REQUESTS' }])
  await login.as(sessionToken, '/limited')
  await login.as(sessionToken, '/limited')
  t.match(login.events(), [{ event: 'refused', ip, path: '/limited', code: 'TOO_MANY_REQUESTS' }])
  for (let i = 0; i < 150; i++) await login.as(`nks_${'a'.repeat(43)}`, '/notes')
  const events = login.events()
  t.match(events[0], { event: 'refused', code: 'UNAUTHORIZED' })
  t.match(events[60], { event: 'refused', code: 'TOO_MANY_REQUESTS' }, 'the limit of wrong tokens')
  t.match(events.at(-1), { event: 'refusals-omitted', ip })
  t.equal(events.length, 99, 'two lines of the address were written before')
})

test('a trusted proxy says from where a client came', async (t) => {
  const login = await start(t, { config: { server: { trustedProxies: [ip] } } })
  await login.as('a-wrong-token', '/notes', { headers: { 'x-forwarded-for': '198.51.100.7' } })
  t.match(login.events(), [{ event: 'refused', ip: '198.51.100.7' }])
})

test('the access lines at "debug" say who asked, and from where', async (t) => {
  const login = await start(t)
  const { sessionToken, user } = await login.openSession(ada)
  login.lines()
  await login.as(sessionToken, '/notes?x=1')
  await login.fetch('/health')
  t.match(
    login.lines().filter(({ msg }) => msg === 'answered'),
    [
      {
        level: 'debug',
        ip,
        user: user.username,
        userUuid: user.uuid,
        method: 'GET',
        path: '/notes',
        status: 200,
      },
      { level: 'debug', ip, method: 'GET', path: '/health', status: 200, user: undefined },
    ],
  )
})

test('SECURITY.md lists every event', async (t) => {
  const document = await readFile(new URL('../../../SECURITY.md', import.meta.url), 'utf8')
  const listed = [...document.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)
  t.same(listed.sort(), [...securityEvents].sort())
})

import { definePlugin, Tokens, userOf } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createToken } from '../../src/sessions/token.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { type LoginNode, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState } from '../fixtures/state-file.ts'
import { checkError } from '../http/fixtures/error-answer.ts'
import { createHanding } from '../http/fixtures/handing-plugin.ts'
import { rawRequest } from '../http/fixtures/raw-connection.ts'

const [ada, bob] = [wallet(1), wallet(2)]
const challenge = 'Basic realm="Calendars"'

/** A plugin whose clients send the token as the password of Basic, beside routes that know nothing of it. */
const calendars = definePlugin({
  id: 'calendars',
  requires: { tokens: Tokens },
  setup({ tokens, routes }) {
    routes(
      (app) => {
        tokens.accept(app, {
          challenge,
          read({ headers }) {
            if (headers['x-broken'] === 'throws') throw new Error('The reader is broken.')
            if (headers['x-broken'] === 'number') return 7 as never
            const encoded = /^Basic (\S+)$/.exec(headers.authorization ?? '')?.[1]
            return encoded === undefined ? null : (/:(.*)$/.exec(atob(encoded))?.[1] ?? null)
          },
        })
        app.addHttpMethod('PROPFIND', { hasBody: true })
        const config = { scope: 'calendars' }
        app.get('/day', { config }, async (request) => ({ user: userOf(request).username }))
        app.put('/day', { config }, async (request) => ({ user: userOf(request).username }))
        app.route({ method: 'PROPFIND', url: '/day', config, handler: async ({ user }) => ({ user }) })
        app.get('/unscoped', async () => ({}))
        app.register(async (nested) => {
          nested.get('/nested', { config }, async (request) => ({ user: userOf(request).username }))
        })
      },
      { prefix: '/calendars' },
    )
    routes((app) => {
      app.get('/notes', { config: { scope: 'notes:read' } }, async () => ({}))
      app.get('/agenda', { config: { scope: 'calendars' } }, async () => ({}))
    })
  },
})

const basic = (password: string) => ({ authorization: `Basic ${btoa(`anybody:${password}`)}` })

/** Makes an API token of the user of a session. */
async function makeToken({ send }: LoginNode, session: string, ...scopes: string[]) {
  const headers = { authorization: `Bearer ${session}` }
  const answer = await send('POST', '/api/account/tokens', { name: 'phone', scopes }, headers)
  if (answer.status !== 200) throw new Error(`A token: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { readonly token: string; readonly details: { readonly id: string } }
}

async function start(t: Test) {
  const node = await startLoginNode(t, { plugins: [calendars] })
  const { sessionToken, user } = await node.openSession(ada)
  const ask = (headers: Record<string, string>, path = '/calendars/day', method = 'GET') =>
    node.fetch(path, { method, headers })
  return { node, sessionToken, user, ask }
}

test('a request acts as the user of the token that it presents, on the routes that accept it', async (t) => {
  const { node, sessionToken, user, ask } = await start(t)
  const { token } = await makeToken(node, sessionToken, 'calendars')
  const bobs = await node.openSession(bob)
  const { token: other } = await makeToken(node, bobs.sessionToken, 'calendars')
  for (const path of ['/calendars/day', '/calendars/nested']) {
    t.same(await (await ask(basic(token), path)).json(), { user: user.username })
    t.same(await (await ask(basic(other), path)).json(), { user: bobs.user.username })
  }
  t.equal((await ask(basic(token), '/calendars/day', 'HEAD')).status, 200)
  const listed = await ask(basic(token), '/calendars/day', 'PROPFIND')
  t.match(await listed.json(), { user: { uuid: user.uuid, scopes: ['calendars'], sessionName: 'phone' } })
  t.equal((await ask({ authorization: `Bearer ${token}` })).status, 200, 'as on every route')
  t.equal((await ask({ authorization: `Bearer ${sessionToken}` })).status, 200)
  t.equal((await ask(basic(token), '/agenda')).status, 401, 'a route that does not accept it')
  t.equal((await ask(basic(token), '/api/account/sessions')).status, 401, 'a route of the kernel')
})

test('a token that is wrong, expired, revoked or without the scope opens nothing, and neither does a cookie', async (t) => {
  const { node, sessionToken, ask } = await start(t)
  const refused = async (headers: Record<string, string>, name: string) => {
    const answer = await ask(headers)
    t.equal(answer.headers.get('www-authenticate'), challenge, name)
    await expectError(t, answer, 401, 'UNAUTHORIZED')
  }
  await refused({}, 'no token')
  await refused({ cookie: `session=${sessionToken}` }, 'a cookie')
  await refused({ ...basic('wrong'), cookie: `session=${sessionToken}` }, 'a cookie beside a wrong token')
  await refused({ authorization: `Digest ${sessionToken}` }, 'another scheme')
  for (const wrong of ['', 'wrong', 'x'.repeat(10_000), createToken('api-token')])
    await refused(basic(wrong), 'a wrong token')
  await refused({ authorization: `Bearer ${createToken('api-token')}` }, 'a wrong token in the header')
  for (const kind of ['throws', 'number'])
    await refused({ 'x-broken': kind, cookie: `session=${sessionToken}` }, `a reader that ${kind}`)
  t.match(node.log.join(''), /The plugin failed to find the token in a request\./)

  const [expired, revoked, narrow] = [
    await makeToken(node, sessionToken, 'calendars'),
    await makeToken(node, sessionToken, 'calendars'),
    await makeToken(node, sessionToken, 'notes:read'),
  ]
  changeState(
    node.node.dataFolder,
    'UPDATE sessions SET expires_at = ? WHERE id = ?',
    Date.now() - 1,
    expired.details.id,
  )
  await refused(basic(expired.token), 'an expired token')
  t.equal((await ask(basic(revoked.token))).status, 200)
  const { status } = await node.as(sessionToken, `/api/account/tokens/${revoked.details.id}`, {
    method: 'DELETE',
  })
  t.equal(status, 200)
  await refused(basic(revoked.token), 'a revoked token')
  const missing = await expectError(t, await ask(basic(narrow.token)), 403, 'FORBIDDEN')
  t.equal(missing, 'This API token may not do that: it needs the scope "calendars".')
  const unscoped = await ask(basic(revoked.token), '/calendars/unscoped')
  t.equal(unscoped.status, 401)
  const full = await makeToken(node, sessionToken, 'calendars')
  await expectError(t, await ask(basic(full.token), '/calendars/unscoped'), 403, 'FORBIDDEN')
})

test('wrong tokens are limited together with those in the header, and the log names all refusals', async (t) => {
  const { node, sessionToken, user, ask } = await start(t)
  const { token } = await makeToken(node, sessionToken, 'calendars')
  const narrow = await makeToken(node, sessionToken, 'notes:read')
  node.log.length = 0
  const refusals = () =>
    node.log.map((line) => JSON.parse(line) as { event?: string }).filter(({ event }) => event === 'refused')
  t.equal((await ask({})).status, 401)
  t.equal(refusals().length, 0, 'a client asks first without a token')
  t.equal((await ask(basic(narrow.token))).status, 403)
  t.match(refusals(), [{ ip: '127.0.0.1', user: user.username, path: '/calendars/day', code: 'FORBIDDEN' }])
  t.equal((await ask(basic('wrong'))).status, 401)
  t.match(refusals().at(-1), { ip: '127.0.0.1', path: '/calendars/day', code: 'UNAUTHORIZED' })
  t.notMatch(node.log.join(''), narrow.token)

  const statuses = []
  for (let n = 0; n < 60; n += 1) {
    const headers = n % 2 === 0 ? basic('wrong') : { authorization: 'Bearer wrong' }
    statuses.push((await ask(headers)).status)
  }
  t.same(statuses, [...Array.from({ length: 59 }, () => 401), 429])
  const limited = await ask(basic('wrong'))
  t.ok(Number(limited.headers.get('retry-after')) >= 1)
  await expectError(t, limited, 429, 'TOO_MANY_REQUESTS')
  t.match(refusals().at(-1), { code: 'TOO_MANY_REQUESTS' })
  t.equal((await ask(basic(token))).status, 200, 'the right token is accepted')
})

test('a page of another site cannot write with a password that the browser keeps', async (t) => {
  const { node, sessionToken, ask } = await start(t)
  const { token } = await makeToken(node, sessionToken, 'calendars')
  for (const foreign of [{ origin: 'https://evil.test' }, { 'sec-fetch-site': 'cross-site' }]) {
    const answer = await ask({ ...basic(token), ...(foreign as object) }, '/calendars/day', 'PUT')
    t.match(await expectError(t, answer, 403, 'FORBIDDEN'), /A page of another site must not act/)
    const bearer = { authorization: `Bearer ${token}`, ...(foreign as object) }
    t.equal((await ask(bearer, '/calendars/day', 'PUT')).status, 200, 'a browser does not add it by itself')
  }
  t.equal((await ask(basic(token), '/calendars/day', 'PUT')).status, 200)
})

test('no token is asked for or taken over a connection from outside that is not encrypted', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const node = await startLoginNode(t, { plugins: [calendars, handing.plugin] })
  const { sessionToken } = await node.openSession(ada)
  const { token } = await makeToken(node, sessionToken, 'calendars')
  for (const headers of [{}, basic(token), { authorization: `Bearer ${token}` }]) {
    const plain = await handing.connect({ encrypted: false })
    plain.send(rawRequest('GET', '/calendars/day', { ...headers, 'x-forwarded-proto': 'https' }))
    const answer = await plain.answer()
    checkError(t, answer, 'FORBIDDEN')
    t.match(answer.body, /is not encrypted/)
    t.notOk(answer.headers['www-authenticate'])
    const encrypted = await handing.connect({ encrypted: true })
    encrypted.send(rawRequest('GET', '/calendars/day', headers))
    t.equal((await encrypted.answer()).status, 'authorization' in headers ? 200 : 401)
  }
})

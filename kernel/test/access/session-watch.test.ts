import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { definePlugin, SessionsEnded } from '@nodekeep/plugin-sdk'
import t, { test } from 'tap'
import { Admission } from '../../src/access/admission.ts'
import { Authenticator } from '../../src/access/authenticator.ts'
import { SessionWatch } from '../../src/access/session-watch.ts'
import { createLogger } from '../../src/log/logger.ts'
import { KernelEventBus } from '../../src/services/event-bus.ts'
import { issueSession } from '../../src/sessions/issue-session.ts'
import { SessionTable } from '../../src/sessions/session-table.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { createDataFolder, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState } from '../fixtures/state-file.ts'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'
import { until } from '../state/fixtures/until.ts'

const [ada, bob, eve] = [wallet(1), wallet(2), wallet(3)]

// The tests run concurrently, because they mostly wait.
t.jobs = 3

/** Creates a plugin whose answers and WebSockets stay open until they are ended. */
function createLasting() {
  const ended: string[] = []
  const answers: { finish(): void }[] = []
  const plugin = definePlugin({
    id: 'lasting',
    setup({ events, routes }) {
      events.on(SessionsEnded, ({ userUuid }) => void ended.push(userUuid))
      routes(
        (app) => {
          app.get('/socket', { websocket: true }, (socket) => socket.send('open'))
          app.get('/answer', (_request, reply) => {
            reply.hijack()
            reply.raw.write('begin ')
            answers.push({ finish: () => reply.raw.end('end') })
          })
        },
        { webSockets: true },
      )
    },
  })
  return { plugin, ended, answers }
}

async function openSocket(url: URL, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(new URL('/socket', url), { headers } as never)
  const closed = once(socket, 'close').then(([event]) => event as CloseEvent)
  await once(socket, 'message')
  return { socket, closed }
}

test('a WebSocket ends with its session, even if another process ended the session', async (t) => {
  const folder = await createDataFolder(t)
  const { plugin, ended, answers } = createLasting()
  const { node, openSession, as } = await startLoginNode(t, { dataFolder: folder, plugins: [plugin] })
  const [adas, bobs, eves] = [await openSession(ada), await openSession(bob), await openSession(eve)]
  const revoked = await openSocket(node.url, adas.sessionToken)
  const expired = await openSocket(node.url, bobs.sessionToken)
  const kept = await openSocket(node.url, eves.sessionToken)
  const answer = await as(adas.sessionToken, '/answer')

  const since = performance.now()
  changeState(folder, 'DELETE FROM sessions WHERE user_uuid = ?', adas.user.uuid)
  changeState(folder, 'UPDATE sessions SET expires_at = 1 WHERE user_uuid = ?', bobs.user.uuid)
  for (const { closed } of [revoked, expired]) {
    t.match(await closed, { code: 1008, reason: 'The session has ended.' })
  }
  t.ok(performance.now() - since < 5000, 'within five seconds')
  t.same(ended.toSorted(), [adas.user.uuid, bobs.user.uuid].toSorted(), 'each user gets one event')
  t.equal(kept.socket.readyState, WebSocket.OPEN, 'the sessions of other users continue')
  answers[0]?.finish()
  t.equal(await answer.text(), 'begin end', 'the plugin ends its own answer')

  await as(eves.sessionToken, '/auth/logout', { method: 'POST' })
  t.match(await kept.closed, { code: 1008 }, 'a session that this process ends closes its WebSockets at once')
})

test('the node cuts a WebSocket whose client does not close', async (t) => {
  const { plugin } = createLasting()
  const { node, openSession, as } = await startLoginNode(t, { plugins: [plugin] })
  const { sessionToken } = await openSession(ada)
  const connection = rawConnection(node.url)
  connection.send(
    rawRequest('GET', '/socket', {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      authorization: `Bearer ${sessionToken}`,
    }),
  )
  t.equal((await connection.answer()).status, 101)
  await as(sessionToken, '/auth/logout', { method: 'POST' })
  await connection.ended()
  t.pass('the connection ended')
})

test('the watch looks up only the users of open answers, and only if a session may have ended', async (t) => {
  const folder = await createDataFolder(t)
  const database = await openStateDatabase(folder, databaseSchema)
  t.teardown(() => database.close())
  const accounts = new UserAccounts(database)
  const lookups: string[] = []
  class WatchedTable extends SessionTable {
    override listByUser(userUuid: string) {
      lookups.push(userUuid)
      return super.listByUser(userUuid)
    }
  }
  const sessions = new WatchedTable(database)
  const admission = new Admission({ admission: 'open', allowlist: [] })
  const authenticator = new Authenticator(sessions, accounts, admission, {
    idleDays: { session: 1, 'api-token': 1 },
  })
  const events = new KernelEventBus().scope(createLogger({ level: 'silent' }))
  let checks = 0
  const storeVersion = () => {
    checks += 1
    return database.foreignVersion()
  }
  const watch = new SessionWatch({ authenticator, storeVersion, events, intervalMs: 20 })
  const someChecks = async () => {
    const before = checks
    await until(() => checks >= before + 3)
  }
  const issue = async (account: Parameters<typeof accounts.ensure>[0]) => {
    const { uuid } = await accounts.ensure(account)
    const newSession = { userUuid: uuid, label: '', expiryDays: 1 }
    const { record } = await database.transaction((sql) => issueSession(sql, newSession))
    return { uuid, sessionId: record.id }
  }
  const quick = await issue(ada)
  const open = new Map([
    ['/bob', await issue(bob)],
    ['/eve', await issue(eve)],
  ])
  const server = createServer((request, response) => {
    const user = open.get(request.url ?? '')
    watch.began(request, response, user ?? quick)
    if (user === undefined) response.end('quick')
    else response.write('slow')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.equal(await (await fetch(`${url}/quick`)).text(), 'quick')
  const abort = new AbortController()
  const answers = await Promise.all(
    [...open.keys()].map((path) => fetch(url + path, { signal: abort.signal })),
  )
  const ended: string[] = []
  t.teardown(events.on(SessionsEnded, ({ userUuid }) => void ended.push(userUuid)))
  const uuidOf = (path: string) => open.get(path)?.uuid ?? ''

  t.teardown(watch.start())
  await someChecks()
  t.same(new Set(lookups), new Set([uuidOf('/bob'), uuidOf('/eve')]))
  lookups.length = 0
  await someChecks()
  t.same(lookups, [], 'nothing has changed')

  changeState(folder, 'DELETE FROM sessions WHERE user_uuid = ?', uuidOf('/bob'))
  await until(() => ended.length > 0)
  t.same(ended, [uuidOf('/bob')], 'another process has ended a session')

  changeState(
    folder,
    `UPDATE sessions SET expires_at = ${Date.now() + 200} WHERE user_uuid = ?`,
    uuidOf('/eve'),
  )
  await until(() => ended.length > 1)
  t.same(ended.slice(1), [uuidOf('/eve')], 'a session has expired')
  lookups.length = 0
  await someChecks()
  t.same(lookups, [], 'the watch does not look up users again whose sessions have ended')
  abort.abort()
  // An unreferenced body may be collected with its connection, so the bodies are used here.
  for (const answer of answers) await t.rejects(answer.text())
})

test('a look-up that fails is repeated at the next check', async (t) => {
  const events = new KernelEventBus().scope(createLogger({ level: 'silent' }))
  let lookups = 0
  const authenticator = {
    forget: () => {},
    liveAmong: async () => {
      lookups += 1
      if (lookups === 1) throw new Error('The database is locked.')
      return new Map()
    },
  }
  const watch = new SessionWatch({ authenticator, storeVersion: async () => 1, events, intervalMs: 20 })
  const server = createServer((request, response) => {
    watch.began(request, response, { uuid: 'user', sessionId: 'session' })
    response.write('slow')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const abort = new AbortController()
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, abort)
  const ended = new Promise<string>((resolve) =>
    events.on(SessionsEnded, ({ userUuid }) => resolve(userUuid)),
  )
  t.teardown(watch.start())
  t.equal(await ended, 'user')
  t.equal(lookups, 2)
  abort.abort()
  await t.rejects(answer.text())
})
